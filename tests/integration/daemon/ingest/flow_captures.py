#!/usr/bin/env python3
"""Every datagram of data/flows through `outlierctl decode`: it decodes or is refused with a reason,
and where tshark dissects it too, the records agree field by field.

usage: flow_captures.py OUTLIERCTL DATA_FOLDER      exit code 77: skipped, with the reason
"""
import collections
import ipaddress
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# Files that belong together, templates first: the part of the name before these words.
TEMPLATE = re.compile(r"[_-](opt(ions?)?-?_?)?(tpls?|templates?)")
REFUSED = {  # what is refused, and why it should be
    "netflow5_test_invalid01.dat": "bad_length",  # says it has 55582 records
    "netflow5_test_invalid02.dat": "bad_length",  # says it has 163 records
}
# Where tshark's records cannot be set beside ours, and why.
NOT_COMPARED = {
    "netflow9_test_h3c": "tshark gives up: an IPv4 address of two bytes (IPV4_ROUTER_SC)",
    "ipfix_test_yaf": "tshark's third is a record of options: the exporter's own statistics",
    "netflow9_test_invalid01": "its header counts two sets, and tshark reads no more",
    "sflow_multiple_counter_30_pdus": "holds NetFlow v5 too, on a port that tshark takes for sFlow",
    # Pieces of frames instead of addresses and counters: tshark does not look into them.
    "netflow-datalink": "element 315",
    "netflow-ethernet-over-mpls-with-control-word": "element 104",
    "netflow-ipfix-srv6": "element 315",
    "netflow-juniper-cpid": "element 315",
}
# Ours, and tshark's names for the same.
NETFLOW = {
    "src": ["cflow.srcaddr", "cflow.srcaddrv6"],
    "dst": ["cflow.dstaddr", "cflow.dstaddrv6"],
    "next_hop": ["cflow.nexthop", "cflow.nexthopv6"],
    "bgp_next_hop": ["cflow.bgpnexthop", "cflow.bgpnexthopv6"],
    "in_if": ["cflow.inputint", "cflow.ingress_physical_interface"],
    "out_if": ["cflow.outputint", "cflow.egress_physical_interface"],
    "packets": ["cflow.packets", "cflow.permanent_packets", "cflow.post_packets"],
    "bytes": ["cflow.octets", "cflow.permanent_octets", "cflow.post_octets"],
    "src_port": ["cflow.srcport"],
    "dst_port": ["cflow.dstport"],
    "proto": ["cflow.protocol"],
    "tos": ["cflow.tos"],
    "src_as": ["cflow.srcas"],
    "dst_as": ["cflow.dstas"],
    "src_mask": ["cflow.srcmask", "cflow.srcmaskv6"],
    "dst_mask": ["cflow.dstmask", "cflow.dstmaskv6"],
    "direction": ["cflow.direction"],
    "flows": ["cflow.flows"],
}
SFLOW = {
    "src": ["ip.src", "ipv6.src", "sflow_245.ipv4_src", "sflow_245.ipv6_src"],
    "dst": ["ip.dst", "ipv6.dst", "sflow_245.ipv4_dst", "sflow_245.ipv6_dst"],
    "sampling_rate": ["sflow.flow_sample.sampling_rate"],
    "bytes": ["sflow_245.header.frame_length"],
    "next_hop": ["sflow_245.nexthop"],
    "src_port": ["tcp.srcport", "udp.srcport"],
    "dst_port": ["tcp.dstport", "udp.dstport"],
}


def leaves(node, into=None):
    """Every value of a dissection, by its name."""
    into = collections.defaultdict(list) if into is None else into
    for key, value in node.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                leaves(each, into)
            else:
                into[key].append(each)
    return into


def flows_of(node, wanted):
    """The innermost dissections that hold one flow, in order."""
    for key, value in node.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, dict):
                continue
            if wanted(key, each):
                yield leaves(each)
            else:
                yield from flows_of(each, wanted)


def plain(value):
    text = str(value)
    for read in (lambda: int(text, 0), lambda: ipaddress.ip_address(text)):
        try:
            return read()
        except ValueError:
            pass
    return text


def datagrams(path):
    """The raw datagrams of a .dat file."""
    data = path.read_bytes()
    while data:
        version, second = struct.unpack(">HH", data[:4])
        length = {5: 24 + 48 * second, 10: second}.get(version, len(data))
        yield data[:length]
        data = data[length:]


def capture_of(path, folder):
    """A .dat file as a capture, for tshark."""
    if path.suffix == ".pcap":
        return path
    out = folder / (path.stem + ".pcap")
    with out.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for each in datagrams(path):
            udp = struct.pack(">HHHH", 2055, 2055, 8 + len(each), 0) + each
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
            ip += bytes([192, 0, 2, 1, 192, 0, 2, 9]) + udp
            file.write(struct.pack("<IIII", 0, 0, len(ip), len(ip)) + ip)
    return out


def groups(folder):
    """Lists of files, those with templates first."""
    by_name = collections.defaultdict(list)
    for path in sorted(folder.glob("*/*")):
        if path.suffix not in (".dat", ".pcap"):
            continue
        name = re.split(r"[_-](?:opt|tpl|template|data(?!link)|options)", path.stem)[0]
        by_name[name if path.suffix == ".dat" or "sflow" not in name else path.stem].append(path)
    for name, files in sorted(by_name.items()):
        yield name, sorted(files, key=lambda f: (not TEMPLATE.search(f.stem), "options" not in f.stem))


def tshark_flows(files, folder):
    merged = folder / "merged.pcap"
    captures = [str(capture_of(f, folder)) for f in files]
    subprocess.run(["mergecap", "-a", "-w", merged, *captures], check=True)
    ports = subprocess.run(["tshark", "-r", merged, "-T", "fields", "-e", "udp.dstport", "-E", "occurrence=f"],
                           capture_output=True, text=True, check=True).stdout.split()
    as_what = "sflow" if any("sflow" in f.stem for f in files) else "cflow"
    command = ["tshark", "-r", merged, "-T", "json", "--no-duplicate-keys"]
    for port in sorted(set(ports)):
        command += ["-d", f"udp.port=={port},{as_what}"]
    packets = json.loads(subprocess.run(command, capture_output=True, check=True).stdout or "[]")
    for packet in packets:
        layers = packet["_source"]["layers"]
        for each in layers.get(as_what) if isinstance(layers.get(as_what), list) else [layers.get(as_what)]:
            if not isinstance(each, dict):
                continue
            if as_what == "sflow":
                yield from (f for f in flows_of(each, lambda k, v: "sflow.flow_sample.sampling_rate" in v)
                            if any(n in f for n in SFLOW["src"]))
            else:
                yield from (f for f in flows_of(each, lambda k, v: re.match(r"(Flow|pdu) \d+", k))
                            if any(n in f for n in NETFLOW["packets"] + NETFLOW["bytes"]))


def compare(record, flow, names):
    """What differs."""
    for ours, theirs in names.items():
        values = [plain(v) for name in theirs for v in flow.get(name, [])]
        mine = record[ours]
        if ours == "direction":
            mine = {"ingress": 0, "egress": 1}.get(mine)
        if ours == "flows":
            values = [v or 1 for v in values]  # a record is one flow at least
        if not values or mine is None and all(v in (0, "") for v in values):
            continue
        yield ours, plain(mine) in values, mine, values


def main():
    outlierctl, data = sys.argv[1], pathlib.Path(sys.argv[2]) / "flows"
    if not data.is_dir():
        print("skipped: needs ../shared/data or $OUTLIERD_DATA")
        return 77
    with_tshark = shutil.which("tshark") and shutil.which("mergecap")
    if not with_tshark:
        print("not compared with tshark: it is not installed")
    failures, totals = [], collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for name, files in groups(data):
            ran = subprocess.run([outlierctl, "decode", *map(str, files)], capture_output=True, text=True)
            if ran.returncode != 0:
                failures.append(f"{name}: exit code {ran.returncode}: {ran.stderr[:300]}")
            records = [json.loads(line) for line in ran.stdout.splitlines()]
            said = ran.stderr
            totals["files"] += len(files)
            totals["records"] += len(records)
            for file in files:
                reason = REFUSED.get(file.name)
                refused = re.findall(re.escape(file.name) + r".*\((\w+)\)", said)
                totals["refused"] += len(refused)
                if ([reason] if reason else []) != sorted(set(refused)):
                    failures.append(f"{file.name}: refused {refused}, expected {reason}")
            if not with_tshark or any(f.name in REFUSED for f in files):
                continue
            flows = list(tshark_flows(files, pathlib.Path(scratch)))
            if name in NOT_COMPARED:
                totals["not compared"] += len(records)
                continue
            if len(flows) != len(records):
                failures.append(f"{name}: {len(records)} records, tshark has {len(flows)}")
                continue
            names = SFLOW if "sflow" in name else NETFLOW
            for number, (record, flow) in enumerate(zip(records, flows), 1):
                totals["compared"] += 1
                for field, same, mine, theirs in compare(record, flow, names):
                    totals["fields"] += 1
                    if not same:
                        failures.append(f"{name} record {number}: {field} is {mine}, tshark: {theirs}")
    print(", ".join(f"{key} {value}" for key, value in totals.items()))
    for each in failures:
        print("FAILED", each)
    return 1 if failures else 0


sys.exit(main())
