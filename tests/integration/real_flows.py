#!/usr/bin/env python3
"""real_flows.py OUTLIERD: real exporters and a real collector. A capture is replayed by softflowd (NetFlow v5, v9, IPFIX) into
outlierd and into nfcapd; bytes and packets of each pair of nodes agree exactly. Skipped (77) where the programs are missing."""
import json
import pathlib
import random
import re
import shutil
import socket
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


def write_capture(path):
    """Ethernet, IPv4, UDP: some hundred conversations over two bins; bytes and packets by pair of nodes."""
    draw = random.Random(7)
    packets, sums = [], {}
    for number in range(300):
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
    # The last packet stands at the very end, so that the last bin is whole.
    packets.append((START + BINS * 300 - 0.5, (10, 0, 0, 1), (10, 0, 1, 1), (5000, 53), 100))
    cell = sums.setdefault((0, 1), [0, 0])
    cell[0] += 128
    cell[1] += 1
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


def replay(capture, port, version, work):
    subprocess.run(["softflowd", "-d", "-r", capture, "-a", "-n", f"127.0.0.1:{port}", "-v", str(version), "-c", "none",
                    "-p", f"{work}/softflowd.pid"], check=True, capture_output=True, timeout=120)


def sums_of_nfdump(capture, version, work):
    folder = pathlib.Path(work, f"nfcapd-{version}")
    folder.mkdir()
    port = free_port()
    collector = subprocess.Popen(["nfcapd", "-w", folder, "-b", "127.0.0.1", "-p", str(port), "-t", "60"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    replay(capture, port, version, work)
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


def sums_of_outlierd(capture, version, work):
    folder = pathlib.Path(work, f"outlierd-{version}")
    folder.mkdir()
    config = folder / "outlierd.yaml"
    config.write_text("http: {listen: '127.0.0.1:0'}\nmatrices: []\n"
                      "flows: [{listen: 'udp://127.0.0.1:0', protocol: netflow, count_egress: true}]\n"
                      "networks: [{name: n, nodes: [a, b, c], lateness: 1h, metrics: [bytes, packets], "
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
        # softflowd tells of all flows at the end of its file: the bins wait until the daemon is stopped.
        replay(capture, re.search(r"event=flow_listening.* port=(\d+)", log.read_text())[1], version, work)
        time.sleep(1)
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


def agree(one, other):
    # A flow that is spread over bins is a sum of fractions: far less than a byte is lost in it. Shown are float32 values.
    return all(abs(x - y) <= max(0.01, 1e-6 * max(x, y))
               for pair in set(one) | set(other)
               for x, y in zip(one.get(pair, [0, 0]), other.get(pair, [0, 0])))


with tempfile.TemporaryDirectory() as work:
    capture = f"{work}/traffic.pcap"
    sent = write_capture(capture)
    failed = False
    for version in (5, 9, 10):
        collected, watched = sums_of_nfdump(capture, version, work), sums_of_outlierd(capture, version, work)
        same = agree(collected, watched) and agree(sent, watched)
        print(f"softflowd -v {version}: {len(watched)} pairs,", "agree" if same else f"DIFFER\nnfdump {collected}\noutlierd {watched}\nsent {sent}")
        failed = failed or not same
sys.exit(1 if failed else 0)
