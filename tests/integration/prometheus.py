#!/usr/bin/env python3
"""prometheus.py OUTLIERD OUTLIERCTL: a real Prometheus scrapes a real daemon that takes flows and tells a notifier. promtool finds
nothing to blame in /metrics, every rule we ship is evaluated, every query of the Grafana board is understood. Skipped (77) where it is not installed."""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

outlierd, outlierctl = sys.argv[1:3]
deploy = pathlib.Path(__file__).resolve().parents[2] / "deploy"
missing = [program for program in ("prometheus", "promtool") if not shutil.which(program)]
if missing:
    print("skipped: not installed:", ", ".join(missing))
    sys.exit(77)
subprocess.run(["promtool", "test", "rules", pathlib.Path(__file__).with_name("exporter_silent.rules.yaml")], check=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if result := condition():
                return result
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


def start_daemon(work):
    node_map = subprocess.run([outlierctl, "flows", "--node-map", "--nodes", "4"], check=True, capture_output=True, text=True).stdout
    (work / "outlierd.yaml").write_text(
        "http: {listen: '127.0.0.1:0'}\nmatrices: [{listen: 'tcp://127.0.0.1:0'}]\n"
        "flows: [{listen: 'udp://127.0.0.1:0', protocol: netflow}]\n"
        f"notify: [{{webhook: 'http://127.0.0.1:{free_port()}/'}}]\nstore: {{path: '{work}/store'}}\n"
        "networks:\n  - name: n\n" + "".join(f"    {line}\n" for line in node_map.splitlines()))
    log = work / "log"
    with log.open("w") as file:
        daemon = subprocess.Popen([outlierd, "--config", work / "outlierd.yaml"], stderr=file)
    wait_for("outlierd starts", lambda: daemon.poll() is not None or "event=started" in log.read_text())
    assert daemon.poll() is None, log.read_text()
    return daemon, re.search(r"event=started.* http=(\d+)", log.read_text())[1], re.search(r"event=flow_listening.* port=(\d+)", log.read_text())[1]


def start_prometheus(work, port):
    config = (deploy / "prometheus/prometheus.yaml").read_text()
    config = config.replace("outlierd:9471", f"127.0.0.1:{port}").replace("15s", "1s").replace("[outlierd.rules.yaml]", "[rules.yaml]")
    (work / "prometheus.yaml").write_text(re.sub(r"alerting:.*?(?=scrape_configs)", "", config, flags=re.S))
    shutil.copy(deploy / "prometheus/outlierd.rules.yaml", work / "rules.yaml")
    mine = free_port()
    with (work / "prometheus.log").open("w") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={work}/prometheus.yaml", f"--storage.tsdb.path={work}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{mine}"], stdout=log, stderr=log)
    return process, f"http://127.0.0.1:{mine}"


def check(work, metrics_url, url):
    for text in (get(metrics_url),):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        assert checked.returncode == 0 and not checked.stderr.strip(), checked.stdout + checked.stderr
    wait_for("Prometheus is ready", lambda: "ready" in get(url + "/-/ready").lower())

    def query(expression):
        return json.loads(get(url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression})))["data"]["result"]

    wait_for("a scrape succeeds", lambda: [one for one in query("up") if one["value"][1] == "1"])
    wait_for("flows are counted", lambda: [one for one in query("outlierd_flow_records_total") if float(one["value"][1]) > 0])
    assert len(query("outlierd_exporter_records_total")) == 4, query("outlierd_exporter_records_total")
    assert query("outlierd_notify_queued"), "the notifier has its metrics"

    def rules():
        found = [rule for group in json.loads(get(url + "/api/v1/rules"))["data"]["groups"] for rule in group["rules"]]
        return found if all(rule["health"] == "ok" for rule in found) else None

    evaluated = wait_for("every rule is evaluated", rules)
    assert len(evaluated) == len(re.findall(r"^ *- alert:", (deploy / "prometheus/outlierd.rules.yaml").read_text(), re.M))
    asked = 0
    for panel in json.loads((deploy / "grafana/outlierd.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            query(target["expr"].replace("$network", ".*").replace("$instance", ".*"))  # an error is a 400
            asked += 1
    assert asked > 20, asked
    print(f"{len(evaluated)} rules, {asked} queries of the board, promtool has nothing to blame")


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    daemon, http, udp = start_daemon(work)
    prometheus, url = start_prometheus(work, http)
    try:
        subprocess.run([outlierctl, "flows", "--simulate", "--nodes", "4", "--hours", "1", "--to", f"udp://127.0.0.1:{udp}"], check=True,
                       capture_output=True)
        check(work, f"http://127.0.0.1:{http}/metrics", url)
    except BaseException:
        print((work / "log").read_text(), (work / "prometheus.log").read_text()[-3000:], sep="\n")
        raise
    finally:
        for process in (prometheus, daemon):
            process.terminate()
            process.wait(60)
