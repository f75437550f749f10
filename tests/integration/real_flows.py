#!/usr/bin/env python3
"""real_flows.py OUTLIERD: real exporters and real collectors. A capture is replayed by softflowd (NetFlow v5, v9, IPFIX; every packet, or
one in so many) and by pmacctd's sfprobe (sFlow) into outlierd, and into nfcapd or sfacctd, and into nfacctd: bytes and packets of each pair of
nodes agree exactly, or within what sampling allows. Skipped (77) where softflowd or nfdump are missing; without pmacct its part is left out."""
import json
import os
import pathlib
import random
import re
import shutil
import socket
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

outlierd = sys.argv[1]
START = 1_700_000_100 // 300 * 300
BINS = 2
missing = [program for program in ("softflowd", "nfcapd", "nfdump") if not shutil.which(program)]
if missing:
    print("skipped: not installed:", ", ".join(missing))
    sys.exit(77)


def write_capture(path, conversations=300):
    """Ethernet, IPv4, UDP: conversations over two bins; bytes and packets by pair of nodes."""
    draw = random.Random(7)
    packets, sums = [], {}
    for number in range(conversations):
        origin, destination = draw.randrange(3), draw.randrange(3)
        source, target = (10, 0, origin, draw.randrange(1, 250)), (10, 0, destination, draw.randrange(1, 250))
        ports = (draw.randrange(1024, 65000), draw.choice([53, 443, 8080]))
        begin = draw.uniform(0, BINS * 300 - 30)
        for _ in range(draw.randrange(1, 20)):
            payload = draw.randrange(20, 1400)
            packets.append((START + begin + draw.uniform(0, 20), source, target, ports, payload))
            cell = sums.setdefault((origin, destination), [0, 0])
            cell[0] += 28 + payload
            cell[1] += 1
    # The last packets stand at the very end, so that the last bin is whole; so many that sampling leaves some.
    for number in range(100):
        packets.append((START + BINS * 300 - 2 + number / 100, (10, 0, 0, 1), (10, 0, 1, 1), (5000, 53), 100))
    cell = sums.setdefault((0, 1), [0, 0])
    cell[0] += 100 * 128
    cell[1] += 100
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for when, source, target, ports, payload in sorted(packets):
            udp = struct.pack(">HHHH", *ports, 8 + payload, 0) + bytes(payload)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes(source), bytes(target))
            frame = bytes(6) + bytes(6) + b"\x08\x00" + ip + udp
            file.write(struct.pack("<IIII", int(when), int(when % 1 * 1e6), len(frame), len(frame)) + frame)
    return sums


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def replay(capture, port, version, work, rate=1):
    """softflowd sends NetFlow of a version; sfprobe ("sflow") sFlow."""
    if version != "sflow":
        subprocess.run(["softflowd", "-d", "-r", capture, "-a", "-n", f"127.0.0.1:{port}", "-v", str(version), "-c", "none",
                        "-p", f"{work}/softflowd.pid"] + (["-s", str(rate)] if rate > 1 else []), check=True, capture_output=True, timeout=120)
        return
    config = pathlib.Path(work, "sfprobe.conf")
    config.write_text(f"pcap_savefile: {capture}\nplugins: sfprobe\nsfprobe_receiver: 127.0.0.1:{port}\nsfprobe_agentip: 192.0.2.9\n"
                      f"sampling_rate: {rate}\nplugin_pipe_size: 104857600\nplugin_buffer_size: 1024\n")
    with Program(["pmacctd", "-f", config]) as exporter:
        exporter.settle()


def cpu_of(pids):
    total = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        except (OSError, IndexError):
            pass
    return total


class Program:
    """A program of pmacct with its plugins, which are processes of their own and end with it."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def pids(self):
        listed = subprocess.run(["ps", "-o", "pid=", "-g", str(self.process.pid)], capture_output=True, text=True).stdout
        return listed.split()

    def settle(self, quiet=3.0, most=60.0):
        """Until it has used no time for a while, or ended."""
        end, since, used = time.monotonic() + most, time.monotonic(), -1
        while time.monotonic() < min(end, since + quiet) and self.process.poll() is None:
            time.sleep(0.2)
            now = cpu_of(self.pids())
            if now > used + 1:
                used, since = now, time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)  # it writes what it has
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def sums_of_pmacct(capture, version, work, rate=1):
    """nfacctd, or sfacctd for sFlow: pairs of /24, corrected for sampling."""
    name = "sfacctd" if version == "sflow" else "nfacctd"
    folder = pathlib.Path(work, f"{name}-{version}-{rate}")
    folder.mkdir()
    port = free_port()
    (folder / "conf").write_text(
        f"{name}_ip: 127.0.0.1\n{name}_port: {port}\nplugins: print\nprint_output: json\nprint_output_file: {folder}/out.json\nprint_output_file_append: true\n"
        f"aggregate: src_host, dst_host\nprint_refresh_time: 2\n{name}_renormalize: true\nprint_cache_entries: 100003\n"
        "plugin_pipe_size: 104857600\nplugin_buffer_size: 1024\n")
    with Program([name, "-f", folder / "conf"]) as collector:
        time.sleep(2)
        replay(capture, port, version, work, rate)
        collector.settle(2.0, 20.0)
    for _ in range(100):
        if (folder / "out.json").exists():
            break
        time.sleep(0.1)
    sums = {}
    for line in (folder / "out.json").read_text().splitlines():
        row = json.loads(line)
        if row.get("event_type", "purge") != "purge":
            continue
        pair = tuple(int(row[end].split(".")[2]) for end in ("ip_src", "ip_dst"))
        cell = sums.setdefault(pair, [0, 0])
        cell[0] += row["bytes"]
        cell[1] += row["packets"]
    return sums


def sums_of_nfdump(capture, version, work, rate=1):
    folder = pathlib.Path(work, f"nfcapd-{version}-{rate}")
    folder.mkdir()
    port = free_port()
    collector = subprocess.Popen(["nfcapd", "-w", folder, "-b", "127.0.0.1", "-p", str(port), "-t", "60"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    replay(capture, port, version, work, rate)
    time.sleep(1)
    collector.terminate()
    collector.wait(30)
    listed = subprocess.run(["nfdump", "-R", folder, "-o", "fmt:%sa,%da,%byt,%pkt", "-q", "-N"], check=True, capture_output=True,
                            text=True).stdout
    sums = {}
    for line in listed.splitlines():
        found = re.match(r"\s*10\.0\.(\d)\.\d+,\s*10\.0\.(\d)\.\d+,\s*(\d+),\s*(\d+)", line)
        if found:
            cell = sums.setdefault((int(found[1]), int(found[2])), [0, 0])
            cell[0] += int(found[3])
            cell[1] += int(found[4])
    return sums


def sums_of_outlierd(capture, version, work, rate=1):
    folder = pathlib.Path(work, f"outlierd-{version}-{rate}")
    folder.mkdir()
    config = folder / "outlierd.yaml"
    config.write_text("http: {listen: '127.0.0.1:0'}\nmatrices: []\n"
                      f"flows: [{{listen: 'udp://127.0.0.1:0', protocol: {'sflow' if version == 'sflow' else 'netflow'}, count_egress: true, "
                      "receive_buffer: 4MiB}]\n"
                      f"networks: [{{name: n, nodes: [a, b, c], {'bin: 10s, lateness: 1s' if version == 'sflow' else 'lateness: 1h'}, metrics: [bytes, packets], "
                      "sampling: {unknown: {assume: 1}}, node_map: {prefixes: {10.0.0.0/24: a, 10.0.1.0/24: b, 10.0.2.0/24: c}}}]\n"
                      f"store: {{path: '{folder}/store'}}\n")
    log = folder / "log"

    def start():
        with log.open("w") as file:
            daemon = subprocess.Popen([outlierd, "--config", config], stderr=file)
        for _ in range(1200):
            if re.search(r"event=started.* http=(\d+)", log.read_text()) or daemon.poll() is not None:
                return daemon
            time.sleep(0.05)
        return daemon

    def get(path):
        url = "http://127.0.0.1:" + re.search(r"event=started.* http=(\d+)", log.read_text())[1]
        return json.load(urllib.request.urlopen(url + path, timeout=30))

    daemon = start()
    try:
        if version == "sflow":  # no times in it: it belongs to the bins of now, the first of which is not whole
            time.sleep(10.5 - time.time() % 10)
        # softflowd tells of all flows at the end of its file: the bins wait until the daemon is stopped.
        replay(capture, re.search(r"event=flow_listening.* port=(\d+)", log.read_text())[1], version, work, rate)
        time.sleep(1)
        if version == "sflow":
            return sums_of_bins(get)
        daemon.terminate()
        daemon.wait(60)
        daemon = start()
        last = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + (BINS - 1) * 300))
        for _ in range(600):
            if get("/api/v1/status")["networks"][0]["last_slice"] == last:
                break
            time.sleep(0.05)
        sums = {}
        for number in range(BINS):
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + number * 300))
            for kind, metric in enumerate(("bytes", "packets")):
                matrix = get(f"/api/v1/networks/n/matrix?what=observed&time={when}&metric={metric}")["observed"]
                for i, row in enumerate(matrix):
                    for j, value in enumerate(row):
                        if value is None:
                            raise SystemExit(f"v{version}: {when} {i}>{j} is not observed\n{log.read_text()}")
                        sums.setdefault((i, j), [0, 0])[kind] += value
        return sums
    finally:
        daemon.terminate()
        daemon.wait(60)


def sums_of_bins(get):
    """All that was observed, once a bin has come after now."""
    over = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() // 10 * 10))
    sums, seen = {}, False
    for _ in range(400):
        last = get("/api/v1/status")["networks"][0]["last_slice"]
        seen = last is not None and last >= over
        if seen:
            break
        time.sleep(0.1)
    for point in get("/api/v1/networks/n/slices")["points"]:
        for kind, metric in enumerate(("bytes", "packets")):
            matrix = get(f"/api/v1/networks/n/matrix?what=observed&time={point['time']}&metric={metric}")["observed"]
            for i, row in enumerate(matrix):
                for j, value in enumerate(row):
                    sums.setdefault((i, j), [0, 0])[kind] += value or 0
    return sums


def agree(one, other, held=0):
    """Exactly; of the last flow (the pair 0>1) so many packets may still be held back."""
    # A flow that is spread over bins is a sum of fractions: far less than a byte is lost in it. Shown are float32 values.
    return all(abs(x - y) <= max(0.01, 1e-6 * max(x, y)) + (held * each if pair == (0, 1) else 0)
               for pair in set(one) | set(other)
               for x, y, each in zip(one.get(pair, [0, 0]), other.get(pair, [0, 0]), (132, 1)))


def near(sent, seen, rate):
    """One packet in `rate`: n packets of a pair come out as n +- sqrt(n rate); five of these, and 1.3 more for bytes (sizes differ)."""
    return all(abs(seen.get(pair, [0, 0])[1] - packets) <= 5 * (packets * rate) ** 0.5 + rate and
               abs(seen.get(pair, [0, 0])[0] - size) <= 6.5 * (packets * rate) ** 0.5 * size / packets + 1500 * rate
               for pair, (size, packets) in sent.items())


HELD = 100  # packets: pmacct's programs keep their last buffer until more comes


def compare(what, sent, seen, rate, judges, held=0):
    """Exactly, or as sampling allows: each program has drawn a sample of its own."""
    def same(each, held):
        return agree(each, seen, held) if rate == 1 else near(each, seen, 2 * rate)

    good = (agree(sent, seen, held) if rate == 1 else near(sent, seen, rate)) and \
        all(same(each, held if name == "nfcapd" else HELD) for name, each in judges.items())
    print(f"{what}:", f"{len(seen)} pairs, agree with " + ", ".join(["what was sent", *judges]) if good else
          f"DIFFER\noutlierd {seen}\n" + "\n".join(f"{name} {each}" for name, each in judges.items()) + f"\nsent {sent}", flush=True)
    return good


with_pmacct = all(shutil.which(program) for program in ("pmacctd", "nfacctd", "sfacctd"))
if not with_pmacct:
    print("not compared with pmacct: it is not installed")
with tempfile.TemporaryDirectory() as work:
    capture, larger = f"{work}/traffic.pcap", f"{work}/larger.pcap"
    sent, much = write_capture(capture), write_capture(larger, 3000)
    good = True
    for version in (5, 9, 10):
        judges = {"nfcapd": sums_of_nfdump(capture, version, work)}
        if with_pmacct and version == 9:
            judges["nfacctd"] = sums_of_pmacct(capture, version, work)
        good &= compare(f"softflowd -v {version}", sent, sums_of_outlierd(capture, version, work), 1, judges)
        good &= compare(f"softflowd -v {version} -s 10", much, sums_of_outlierd(larger, version, work, 10), 10,
                        {"nfcapd": sums_of_nfdump(larger, version, work, 10)} if version == 5 else {})
    if with_pmacct:
        framed = {pair: [size + 4 * packets, packets] for pair, (size, packets) in much.items()}  # sfprobe adds a frame's checksum
        for rate in (1, 10):
            good &= compare(f"sfprobe, 1 in {rate}", framed, sums_of_outlierd(larger, "sflow", work, rate), rate,
                            {"sfacctd": sums_of_pmacct(larger, "sflow", work, rate)}, HELD)
sys.exit(0 if good else 1)
