#!/usr/bin/env python3
"""The daemon's figures, in one run: replay rate, time from push to scored slice, requests a second, memory.

    tests/bench/daemon_bench.py BUILD_DIR TRAFFIC.csv.gz

Starts BUILD_DIR/outlierd on free loopback ports with a store in a temporary folder, and ends it. Needs wrk for the
requests. Prints one line a figure; standard library only.
"""
import gzip, json, os, re, socket, subprocess, sys, tempfile, threading, time, http.client


def start(binary, folder, networks):
    config = os.path.join(folder, "outlierd.yaml")
    with open(config, "w") as out:
        out.write("http: {listen: '127.0.0.1:0'}\n")
        out.write("matrices: [{listen: 'unix:%s/m.sock'}]\n" % folder)
        out.write("store: {path: '%s/store'}\nnetworks:\n" % folder)
        for name, nodes, lateness in networks:
            out.write("  - {name: %s, nodes: [%s], lateness: %ds}\n" % (name, ", ".join(nodes), lateness))
    log = open(os.path.join(folder, "log"), "w+")
    process = subprocess.Popen([binary, "--config", config], stderr=log)
    for _ in range(2000):
        text = open(log.name).read()
        found = re.search(r"event=started .*http=(\d+)", text)
        if found:
            return process, int(found.group(1)), folder + "/m.sock"
        time.sleep(0.005)
    raise SystemExit("outlierd did not start: " + text)


def resident_megabytes(process):
    for line in open("/proc/%d/status" % process.pid):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024


def columns(path):
    with gzip.open(path, "rt") as f:
        pairs = f.readline().strip().split(",")[1:]
    nodes = []
    for pair in pairs:
        for node in pair.split(">"):
            if node not in nodes:
                nodes.append(node)
    return nodes


def replay(build, traffic):
    with tempfile.TemporaryDirectory() as folder:
        nodes = columns(traffic)
        process, http_port, path = start(build + "/outlierd", folder, [("abilene", nodes, 60), ("second", nodes, 60)])
        sizes, done = [], threading.Event()

        def watch():
            while not done.wait(0.2):
                sizes.append(resident_megabytes(process))

        watcher = threading.Thread(target=watch)
        watcher.start()
        begin = time.time()
        out = subprocess.run([build + "/outlierctl", "--url", "http://127.0.0.1:%d" % http_port, "push", traffic,
                              "--to", "unix:" + path, "--network", "abilene", "--speed", "max"],
                             capture_output=True, text=True, check=True).stdout.strip()
        seconds = time.time() - begin
        bins = int(re.match(r"([\d,]+) bins", out).group(1).replace(",", ""))
        done.set()
        watcher.join()
        half = sizes[len(sizes) // 2]
        print("replay: %d slices, %.0f a second, every one durable before it was answered" % (bins, bins / seconds))
        requests(http_port, path, nodes)
        print("memory: %.1f MB at the end, %.1f MB in the middle of the run" % (resident_megabytes(process), half))
        process.terminate()
        process.wait()


def requests(http_port, path, nodes):
    """wrk on one core, while a second network gets a hundred slices a second."""
    stop = threading.Event()

    def background():
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        reader = connection.makefile()
        number = 0
        while not stop.wait(0.01):
            connection.sendall(line("second", nodes, number, 10)[0])
            reader.readline()
            number += 1

    pusher = threading.Thread(target=background)
    pusher.start()
    url = "http://127.0.0.1:%d/api/v1/events?limit=20" % http_port
    out = subprocess.run(["wrk", "-t1", "-c8", "-d10s", "--latency", url], capture_output=True, text=True).stdout
    stop.set()
    pusher.join()
    rate = re.search(r"Requests/sec:\s+([\d.]+)", out)
    p99 = re.search(r"99%\s+(\S+)", out)
    print("requests during ingestion: %s a second, 99%% within %s" % (rate.group(1), p99.group(1)))


def line(network, nodes, bin_number, scale):
    n = len(nodes)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1600000200 + 300 * bin_number))
    values = [[scale * (1 + (i * n + j + bin_number * 7) % 13) for j in range(n)] for i in range(n)]
    return (json.dumps({"network": network, "time": stamp, "source": "bench", "sequence": bin_number, "complete": True,
                        "values": values}) + "\n").encode(), stamp


def latency(build):
    """One network's slice after another, while 49 others get one slice in two seconds each."""
    nodes = ["N%02d" % k for k in range(12)]
    networks = [("net%d" % k, nodes, 60) for k in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        process, http_port, path = start(build + "/outlierd", folder, networks)
        stop = threading.Event()

        def background():
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            reader = connection.makefile()
            number = 0
            while not stop.is_set():
                for k in range(1, 50):
                    connection.sendall(line("net%d" % k, nodes, number, 10)[0])
                    reader.readline()
                    time.sleep(2.0 / 49)
                    if stop.is_set():
                        break
                number += 1

        threading.Thread(target=background, daemon=True).start()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        http = http_client(http_port)
        times = []
        for number in range(400):
            text, stamp = line("net0", nodes, number, 10)
            target = "/api/v1/networks/net0/matrix?what=score&time=" + stamp
            begin = time.time()
            connection.sendall(text)
            while True:
                http.request("GET", target)
                answer = http.getresponse()
                answer.read()
                if answer.status == 200:
                    break
            times.append(time.time() - begin)
            time.sleep(0.01)
        stop.set()
        times.sort()
        print("from push to scored slice, 50 networks: median %.1f ms, 99%% within %.1f ms" %
              (1000 * times[len(times) // 2], 1000 * times[int(len(times) * 0.99)]))
        process.terminate()
        process.wait()


def http_client(port):
    return http.client.HTTPConnection("127.0.0.1", port)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    replay(sys.argv[1], sys.argv[2])
    latency(sys.argv[1])
