#!/usr/bin/env python3
"""flow_rates.py [--nodes 12] BUILD [RATE...]: outlierd, nfcapd and nfacctd take the same NetFlow v9 (28 records a datagram, loopback, 4 MB buffer) in one
run; for each the CPU time a record (from /proc) and what share of the records was lost, at each rate (records a second).
Needs the packages nfdump and pmacct; what is missing is left out."""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

command = argparse.ArgumentParser(description=__doc__)
command.add_argument("--nodes", type=int, default=12)
command.add_argument("build")
command.add_argument("rates", type=float, nargs="*", default=[100e3, 500e3, 1e6, 2e6, 3e6])
asked = command.parse_args()
build, rates = pathlib.Path(asked.build).resolve(), asked.rates
SECONDS, NODES, PREFIXES, BUFFER = 5, asked.nodes, 500_000, 4 << 20
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def prefixes():
    for number in range(PREFIXES):
        yield f"{10 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24", number % NODES


def children(pid):
    found = [pid]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(entry.name))
            except (OSError, IndexError):
                pass
    return found


def cpu(pids):
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def dropped(port):
    for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].split(":")[1], 16) == port:
            return int(fields[-1])
    return 0


def send(port, rate):
    return int(subprocess.run([build / "outlierd_flow_sender", str(port), str(rate), str(SECONDS), str(PREFIXES)], check=True,
                              capture_output=True, text=True).stdout)


def measure(name, process, port, rate, received=None):
    time.sleep(3)
    pids = children(process.pid)
    before, lost_before = cpu(pids), dropped(port)
    known = received() if received else 0
    sent = send(port, rate)
    time.sleep(2)
    took, lost = cpu(pids) - before, 28 * (dropped(port) - lost_before)
    taken = received() - known if received else sent - lost
    result = {"program": name, "rate": rate, "sent": sent, "lost": 1 - taken / sent, "cpu_ns_per_record": took * 1e9 / max(taken, 1)}
    print(json.dumps(result), flush=True)


def run_outlierd(rate, work):
    folder = pathlib.Path(work, f"outlierd-{rate}")
    folder.mkdir()
    nodes = [f"n{k}" for k in range(NODES)]
    with (folder / "prefixes.csv").open("w") as file:
        for prefix, node in prefixes():
            file.write(f"{prefix},n{node}\n")
    (folder / "outlierd.yaml").write_text(
        "http: {listen: '127.0.0.1:0'}\nmatrices: []\n"
        f"flows: [{{listen: 'udp://127.0.0.1:0', protocol: netflow, receive_buffer: {BUFFER >> 20}MiB}}]\n"
        f"networks: [{{name: n, nodes: {json.dumps(nodes)}, node_map: {{prefix_file: '{folder}/prefixes.csv'}}}}]\n"
        f"store: {{path: '{folder}/store'}}\n")
    log = folder / "log"
    with log.open("w") as file:
        daemon = subprocess.Popen([build / "outlierd", "--config", folder / "outlierd.yaml"], stderr=file)
    try:
        while not re.search(r"event=started", log.read_text()):
            if daemon.poll() is not None:
                raise SystemExit("outlierd did not start: " + log.read_text())
            time.sleep(0.1)
        url = "http://127.0.0.1:" + re.search(r" http=(\d+)", log.read_text())[1]
        port = int(re.search(r"event=flow_listening.* port=(\d+)", log.read_text())[1])

        def received():
            text = urllib.request.urlopen(url + "/metrics", timeout=30).read().decode()
            return int(float(re.search(r"^outlierd_flow_records_total\{.*\} (\S+)$", text, re.M)[1]))

        measure("outlierd", daemon, port, rate, received)
    finally:
        daemon.terminate()
        daemon.wait()


def run_nfcapd(rate, work):
    folder = pathlib.Path(work, f"nfcapd-{rate}")
    folder.mkdir()
    port = free_port()
    collector = subprocess.Popen(["nfcapd", "-w", folder, "-b", "127.0.0.1", "-p", str(port), "-t", "60", "-B", str(BUFFER)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        measure("nfcapd", collector, port, rate)
    finally:
        collector.terminate()
        collector.wait()


def run_nfacctd(rate, work):
    folder = pathlib.Path(work, f"nfacctd-{rate}")
    folder.mkdir()
    port = free_port()
    with (folder / "networks").open("w") as file:
        for prefix, node in prefixes():
            file.write(f"{64500 + node},{prefix}\n")
    (folder / "conf").write_text(
        f"nfacctd_ip: 127.0.0.1\nnfacctd_port: {port}\nnfacctd_pipe_size: {BUFFER}\nplugins: print\nprint_output: json\n"
        f"print_output_file: {folder}/out.json\naggregate: src_as, dst_as\nnetworks_file: {folder}/networks\nnfacctd_as: file\n"
        "print_refresh_time: 300\nplugin_buffer_size: 1048576\nplugin_pipe_size: 104857600\n")
    collector = subprocess.Popen(["nfacctd", "-f", folder / "conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(10)  # the table of networks
    try:
        measure("nfacctd", collector, port, rate)
    finally:
        for pid in reversed(children(collector.pid)):  # its plugins outlive it otherwise
            os.kill(pid, 9)
        collector.wait()


with tempfile.TemporaryDirectory() as work:
    for rate in rates:
        run_outlierd(rate, work)
        if shutil.which("nfcapd"):
            run_nfcapd(rate, work)
        if shutil.which("nfacctd"):
            run_nfacctd(rate, work)
