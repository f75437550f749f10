#!/usr/bin/env python3
"""documents.py OUTLIERD: the documents say all that the code has, and nothing that it has not: every key of the
configuration, metric, warning and error of the log; the API as served; links that lead somewhere."""
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

outlierd = sys.argv[1]
root = pathlib.Path(__file__).resolve().parents[2]
problems = []


def text(path):
    return (root / path).read_text(encoding="utf-8")


def expect_same(what, in_code, in_document):
    for name in sorted(in_code - in_document):
        problems.append(f"{what}: {name} is missing")
    for name in sorted(in_document - in_code):
        problems.append(f"{what}: {name} does not exist")


def keys_of_dump(yaml):
    """Paths of all keys of a dumped configuration: http.tls.key_file, networks[].bin, ..."""
    keys, parents = set(), []
    for line in yaml.splitlines():
        found = re.match(r"^( *)(- )?([\w]+):(.*)$", line)
        if not found:
            continue
        indent = len(found[1]) + (2 if found[2] else 0)
        while parents and parents[-1][0] >= indent:
            parents.pop()
        if found[2] or (parents and parents[-1][2]):
            if found[2]:
                parents[-1] = (*parents[-1][:2], True)
        path = "".join(name + ("[]." if listed else ".") for _, name, listed in parents) + found[3]
        keys.add(path)
        parents.append((indent, found[3], False))
    return {key for key in keys if not any(other.startswith((key + ".", key + "[].")) for other in keys)}


def check_configuration():
    dumped = subprocess.run([outlierd, "--demo", "--dump-config"], check=True, capture_output=True, text=True)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("networks: [{name: n, nodes: [a, b]}]\n"
                   "flows: [{listen: 'udp://127.0.0.1:2055', protocol: netflow}]\n"
                   "notify: [{alertmanager: 'http://h:1'}, {syslog: 'udp://h:514'},\n"
                   "         {webhook: 'https://h/', token_file: t, hmac_key_file: k}]\n")
        file.flush()
        lists = subprocess.run([outlierd, "--config", file.name, "--dump-config"], check=True,
                               capture_output=True, text=True)
    keys = keys_of_dump(dumped.stdout) | keys_of_dump(lists.stdout)
    if len(keys) < 40:
        problems.append(f"documents.py: only {len(keys)} keys were understood of --dump-config")
    named = set(re.findall(r"^\| `([\w.\[\]]+)` \|", text("docs/configuration.md"), re.M))
    expect_same("docs/configuration.md", keys, named)


def check_metrics():
    source = text("daemon/metrics_text.cpp")
    table = source[source.index("kMetrics"):source.index("});")]
    in_code = set(re.findall(r'\{"(outlierd_\w+)"', table))
    expect_same("docs/metrics.md", in_code, set(re.findall(r"^\| `(outlierd_\w+)` \|", text("docs/metrics.md"), re.M)))
    for name in re.findall(r"\boutlierd_[a-z_]+", re.sub(r"#.*", "", text("deploy/prometheus/outlierd.rules.yaml"))):
        if name not in in_code:
            problems.append(f"deploy/prometheus/outlierd.rules.yaml: there is no metric {name}")
    board = text("deploy/grafana/outlierd.json")
    for name in re.findall(r"\boutlierd_[a-z_]+", board):
        if name.removesuffix("_bucket") not in in_code:
            problems.append(f"deploy/grafana/outlierd.json: there is no metric {name}")
    made = subprocess.run([sys.executable, str(root / "deploy/grafana/make_board.py")], check=True, capture_output=True, text=True)
    if made.stdout != board:
        problems.append("deploy/grafana/outlierd.json is not what make_board.py makes")


def check_log_names():
    in_code = set()
    for file in (root / "daemon").rglob("*.cpp"):
        for level, name in re.findall(r'log::(warn|error)\(\s*"(\w+)"', file.read_text(encoding="utf-8")):
            in_code.add(f"{name} ({level})")
    rows = re.findall(r"^\| `(\w+)` \| (warn|error) \|", text("docs/troubleshooting.md"), re.M)
    expect_same("docs/troubleshooting.md", in_code, {f"{name} ({level})" for name, level in rows})


def check_api():
    with tempfile.TemporaryDirectory() as work:
        config = pathlib.Path(work, "outlierd.yaml")
        config.write_text("http: {listen: '127.0.0.1:0'}\nmatrices: []\n"
                          f"networks: [{{name: n, nodes: [a, b]}}]\nstore: {{path: '{work}/store'}}\n")
        log = pathlib.Path(work, "log")
        with log.open("w") as file:
            daemon = subprocess.Popen([outlierd, "--config", str(config)], stderr=file)
        try:
            port = None
            for _ in range(600):
                port = re.search(r"event=started.* http=(\d+)", log.read_text())
                if port or daemon.poll() is not None:
                    break
                time.sleep(0.05)
            if not port:
                problems.append("outlierd did not start: " + log.read_text())
                return
            served = urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/openapi.json", timeout=30).read()
        finally:
            daemon.terminate()
            daemon.wait()
    made = subprocess.run([sys.executable, str(root / "docs/make_api.py")], input=served, check=True,
                          capture_output=True)
    if made.stdout.decode() != text("docs/api.md"):
        problems.append("docs/api.md is not what is served: curl -s URL/openapi.json | docs/make_api.py > docs/api.md")


def check_links():
    for file in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", file.read_text(encoding="utf-8")):
            if "://" not in target and not (file.parent / target).exists():
                problems.append(f"{file.relative_to(root)}: {target} does not exist")


check_configuration()
check_metrics()
check_log_names()
check_api()
check_links()
print("\n".join(problems) or "the documents say what the code has")
sys.exit(1 if problems else 0)
