#!/usr/bin/env python3
"""notify.py OUTLIERD OUTLIERCTL webhook|alertmanager|maintenance: the notifiers of a real daemon. A webhook (signature, token, retry), syslog and
`outlierctl notify test`, through kill -9, silences and reload; with `alertmanager`: a real Alertmanager that shows, resolves, goes
away while an event opens and closes, and comes back: nothing lost, nothing doubled. Skipped (77) where it is not installed. With
`maintenance`: a window planned ahead, through kill -9 and a restart: told before, not inside, told again after."""
import hashlib
import hmac
import http.server
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

outlierd, outlierctl = sys.argv[1:3]

START = 1_600_000_200 // 300 * 300
NODES = "ABCDEF"
KEY, TOKEN = b"a secret key", "a-token"


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


class Receiver:
    """An HTTP server that keeps what was posted; fails as often as it is told."""

    def __init__(self, certificate=None):
        self.posts, self.fail_next = [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fail = outer.fail_next > 0
                outer.fail_next -= fail
                if not fail:
                    outer.posts.append((dict(self.headers), body))
                self.send_response(500 if fail else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def alerts(self):
        """(event, status) of every alert that came, in order."""
        return [(alert["labels"].get("event"), alert["status"])
                for _, body in list(self.posts) for alert in json.loads(body)["alerts"]]


class Daemon:
    def __init__(self, folder, notify, environment=None):
        self.environment = {**os.environ, **(environment or {})}
        self.folder, self.matrix_port = pathlib.Path(folder), free_port()
        self.configure(notify)
        self.process = None
        self.start()

    def configure(self, notify):
        (self.folder / "outlierd.yaml").write_text(
            "http: {listen: '127.0.0.1:0'}\n"
            f"matrices: [{{listen: 'tcp://127.0.0.1:{self.matrix_port}'}}]\n"
            f"networks: [{{name: n, nodes: [{','.join(NODES)}]}}]\n"
            f"store: {{path: '{self.folder}/store'}}\nnotify:\n" + "".join(f"  - {one}\n" for one in notify))

    def start(self):
        log = self.folder / "log"
        with log.open("w") as file:
            self.process = subprocess.Popen([outlierd, "--config", str(self.folder / "outlierd.yaml")], stderr=file,
                                            env=self.environment)
        found = wait_for("the daemon starts", lambda: re.search(r"event=started.* http=(\d+)", log.read_text()) or
                         self.process.poll() is not None)
        assert found is not True, log.read_text()
        self.url = f"http://127.0.0.1:{found[1]}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, path, body=None):
        request = urllib.request.Request(self.url + path, method="GET" if body is None else "POST",
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def metric(self, name, of):
        text = urllib.request.urlopen(self.url + "/metrics", timeout=30).read().decode()
        found = re.search(rf'^{name}{{notifier="{of}[^"]*"}} (\S+)$', text, re.M)
        return float(found[1]) if found else None

    def push(self, first, last, surge=()):
        """Smooth traffic; in the bins of surge six times as much goes to C. All answered."""
        with socket.create_connection(("127.0.0.1", self.matrix_port), timeout=60) as connection:
            lines = connection.makefile("rw")
            for number in range(first, last):
                draw = random.Random(number)
                values = [[1000 * (i + 1) * (j + 2) * (1.5 + math.sin(number * 2 * math.pi / 288)) *
                           (6 if number in surge and j == 2 else 1) * math.exp(0.1 * draw.gauss(0, 1))
                           for j in range(6)] for i in range(6)]
                when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + 300 * number))
                lines.write(json.dumps({"network": "n", "time": when, "source": "t", "sequence": number,
                                        "complete": True, "values": values}) + "\n")
                lines.flush()
                answer = json.loads(lines.readline())
                assert answer["ok"], answer
        wait_for("everything is scored", lambda: self.ask("/api/v1/status")["networks"][0]["last_slice"] == when)

    def events(self):
        return {event["id"]: event for event in self.ask("/api/v1/events")["items"]}


def newest_event(daemon, state):
    events = sorted(daemon.events().values(), key=lambda event: event["opened"])
    assert events and events[-1]["state"] == state, events
    return events[-1]


def check_signature(headers, body):
    expected = "sha256=" + hmac.new(KEY, body, hashlib.sha256).hexdigest()
    assert headers.get("X-Outlierd-Signature") == expected, headers
    assert headers.get("Authorization") == "Bearer " + TOKEN, headers
    assert json.loads(body)["version"] == "4"


def notify_test(daemon):
    return subprocess.run([outlierctl, "--url", daemon.url, "notify", "test"], capture_output=True, text=True, timeout=60)


def check_webhook_and_syslog(work):
    hook = Receiver()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", work / "tls.key", "-out", work / "tls.crt"], check=True, capture_output=True)
    (work / "tls.pem").write_text((work / "tls.crt").read_text() + (work / "tls.key").read_text())
    secure = Receiver(work / "tls.pem")
    syslog = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    syslog.bind(("127.0.0.1", 0))
    syslog.settimeout(30)
    (work / "key").write_bytes(KEY + b"\n")
    (work / "token").write_text(TOKEN + "\n")
    webhook = (f"{{webhook: 'http://127.0.0.1:{hook.port}/hook', token_file: '{work}/token', "
               f"hmac_key_file: '{work}/key'}}")
    to_syslog = f"{{syslog: 'udp://127.0.0.1:{syslog.getsockname()[1]}'}}"
    nobody = f"{{webhook: 'http://127.0.0.1:{free_port()}/'}}"
    to_secure = f"{{webhook: 'https://me:pw@localhost:{secure.port}/s'}}"
    other_name = f"{{webhook: 'https://127.0.0.1:{secure.port}/o'}}"  # its certificate is not for that name
    daemon = Daemon(work, [webhook, to_syslog, nobody, to_secure, other_name], {"SSL_CERT_FILE": str(work / "tls.crt")})
    try:
        hook.fail_next = 2  # tried again
        daemon.push(0, 401, {400})
        first = newest_event(daemon, "open")["id"]
        wait_for("the webhook is told", lambda: (first, "firing") in hook.alerts())
        line = syslog.recv(65536).decode()
        while first not in line:  # noise may have made events before
            line = syslog.recv(65536).decode()
        assert re.match(r"<26>1 \S+Z \S+ outlierd \d+ event-opened \[outlierd@32473 ", line), line
        assert daemon.metric("outlierd_notify_failed_total", f"webhook http://127.0.0.1:{hook.port}") == 2
        wait_for("counted", lambda: daemon.metric("outlierd_notify_sent_total", f"webhook http://127.0.0.1:{hook.port}") ==
                 len(hook.posts))

        daemon.ask(f"/api/v1/events/{first}/ack", {"by": "ann", "comment": "seen"})
        told = wait_for("acknowledged is told", lambda: [one for one in hook.posts if b"by ann: seen" in one[1]])
        assert json.loads(told[0][1])["status"] == "firing"

        daemon.kill()  # -9
        daemon.start()
        daemon.push(401, 410)
        wait_for("resolved once more is told after kill -9", lambda: (first, "resolved") in hook.alerts())

        daemon.ask("/api/v1/silences", {"network": "n", "duration_seconds": 3600, "comment": "quiet"})
        daemon.push(410, 710, {700})
        silenced = newest_event(daemon, "closed")
        assert silenced["id"] != first and silenced["silenced"], silenced
        time.sleep(1)
        assert silenced["id"] not in {event for event, _ in hook.alerts()}

        answer = notify_test(daemon)
        assert answer.returncode == 1, answer
        assert re.search(r"^ok +webhook \S+/hook: 200 OK", answer.stdout, re.M), answer.stdout
        assert re.search(r"^ok +syslog", answer.stdout, re.M) and "Connection refused" in answer.stdout, answer.stdout
        assert re.search(r"^ok +webhook https://me:<secret>@localhost\S+: 200 OK", answer.stdout, re.M), answer.stdout
        assert re.search(r"^FAILED +webhook https://127.0.0.1\S+: certificate verify failed", answer.stdout, re.M), answer.stdout
        assert all(headers["Authorization"] == "Basic bWU6cHc=" for headers, _ in secure.posts)
        assert (first, "resolved") in secure.alerts()
        wait_for("the test alert", lambda: ("test", "firing") in hook.alerts())

        daemon.configure([webhook, to_syslog, to_secure])
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("reloaded", lambda: "event=reloaded" in (work / "log").read_text())
        answer = notify_test(daemon)
        assert answer.returncode == 0, answer

        for headers, body in hook.posts:
            check_signature(headers, body)
        of_first = [status for event, status in hook.alerts() if event == first]
        assert of_first.count("resolved") == 1 and of_first[-1] == "resolved", of_first
        assert len({json.loads(body)["alerts"][0]["fingerprint"] for _, body in hook.posts if first.encode() in body}) == 1
        daemon.process.terminate()
        assert daemon.process.wait() == 0
    except BaseException:
        print((work / "log").read_text())
        raise
    finally:
        daemon.kill()


def need_alertmanager():
    missing = [program for program in ("prometheus-alertmanager", "amtool") if not shutil.which(program)]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(77)


class Alertmanager:
    """The real one; tells `receiver` of each event by itself, at once."""

    def __init__(self, work, receiver):
        self.work, self.port = work, free_port()
        (work / "alertmanager.yaml").write_text(
            "route: {receiver: r, group_by: [event], group_wait: 0s, group_interval: 1s, repeat_interval: 24h}\n"
            f"receivers: [{{name: r, webhook_configs: [{{url: 'http://127.0.0.1:{receiver.port}/', send_resolved: true}}]}}]\n")
        self.process = None

    def start(self):
        with (self.work / "alertmanager.log").open("a") as log:
            self.process = subprocess.Popen(
                ["prometheus-alertmanager", f"--config.file={self.work}/alertmanager.yaml",
                 f"--storage.path={self.work}/alertmanager", f"--web.listen-address=127.0.0.1:{self.port}",
                 "--cluster.listen-address="], stdout=log, stderr=log)
        wait_for("Alertmanager is ready", self.ready)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def shown(self):
        """By amtool: labels and annotations of what fires."""
        answer = subprocess.run(["amtool", f"--alertmanager.url=http://127.0.0.1:{self.port}", "alert", "query", "-o", "json"],
                                check=True, capture_output=True, text=True)
        return {alert["labels"]["event"]: alert for alert in json.loads(answer.stdout)}


def check_alertmanager(work):
    receiver, hook = Receiver(), Receiver()
    manager = Alertmanager(work, receiver)
    manager.start()
    daemon = Daemon(work, [f"{{alertmanager: 'http://127.0.0.1:{manager.port}'}}", f"{{webhook: 'http://127.0.0.1:{hook.port}'}}"])
    try:
        daemon.push(0, 401, {400})
        first = newest_event(daemon, "open")
        shown = wait_for("amtool shows it", lambda: manager.shown().get(first["id"]))
        assert shown["labels"] == {"alertname": "OutlierdEvent", "event": first["id"], "network": "n",
                                   "shape": first["shape"], "severity": shown["labels"]["severity"]}, shown
        assert shown["annotations"]["summary"] == first["summary"], shown
        assert time.strptime(shown["startsAt"][:19], "%Y-%m-%dT%H:%M:%S")[:6] == \
            time.strptime(first["opened"][:19], "%Y-%m-%dT%H:%M:%S")[:6], shown
        wait_for("the webhook has it too", lambda: (first["id"], "firing") in hook.alerts())
        ours = {alert["fingerprint"] for _, body in hook.posts for alert in json.loads(body)["alerts"]
                if alert["labels"]["event"] == first["id"]}
        assert ours == {shown["fingerprint"]}, (ours, shown)
        wait_for("Alertmanager tells", lambda: (first["id"], "firing") in receiver.alerts())
        daemon.ask(f"/api/v1/events/{first['id']}/ack", {"by": "ann"})
        wait_for("amtool shows who", lambda: manager.shown()[first["id"]]["annotations"].get("acknowledged") == "by ann")

        manager.stop()
        daemon.push(401, 410)
        daemon.push(410, 710, {700})
        second = newest_event(daemon, "closed")
        assert second["id"] != first["id"]
        # The first one's end and the second one, at least: noise may have made more of them.
        wait_for("it waits", lambda: daemon.metric("outlierd_notify_queued", "alertmanager") >= 2)
        time.sleep(1)
        waiting = daemon.metric("outlierd_notify_queued", "alertmanager")
        wait_for("it failed", lambda: daemon.metric("outlierd_notify_failed_total", "alertmanager") > 0)
        assert "event=notify_failed" in (work / "log").read_text()
        daemon.kill()  # -9
        daemon.start()
        wait_for("it waits still", lambda: daemon.metric("outlierd_notify_queued", "alertmanager") == waiting)

        manager.start()
        wait_for("the second is shown", lambda: second["id"] in manager.shown())
        assert first["id"] not in manager.shown()
        wait_for("works again", lambda: "event=notify_works_again" in (work / "log").read_text())
        expected = sorted((event["id"], status) for event in daemon.events().values() for status in ("firing", "resolved"))
        wait_for("all are resolved", lambda: len(receiver.alerts()) >= len(expected), 120)
        assert manager.shown() == {}
        time.sleep(3)
        assert sorted(receiver.alerts()) == expected, receiver.alerts()
        assert daemon.metric("outlierd_notify_queued", "alertmanager") == 0
        assert daemon.metric("outlierd_notify_dropped_total", "alertmanager") == 0
    except BaseException:
        print((work / "log").read_text(), (work / "alertmanager.log").read_text(), receiver.alerts(), sep="\n")
        raise
    finally:
        daemon.kill()
        manager.process.kill()
        manager.process.wait()


def check_maintenance(work):
    hook = Receiver()
    daemon = Daemon(work, [f"{{webhook: 'http://127.0.0.1:{hook.port}'}}"])
    told = lambda event, status: (event, status) in hook.alerts()
    text = lambda at: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    window = lambda: daemon.ask("/api/v1/silences")["items"][0]
    control = lambda *words: subprocess.run([outlierctl, "--url", daemon.url, *words], check=True, capture_output=True, text=True).stdout
    try:
        daemon.push(0, 400)
        starts = int(time.time()) + 8
        ends = starts + 40
        control("silence", "add", "--network", "n", "--node", "C", "--from", text(starts), "--until", text(ends), "--note", "new router",
                "--by", "ann")
        planned = window()
        assert (planned["state"], planned["starts"], planned["ends"]) == ("pending", text(starts), text(ends)), planned
        assert re.search(r"pending.*new router", control("silence", "list")), control("silence", "list")
        daemon.kill()  # -9
        daemon.start()
        assert {**window(), "state": ""} == {**planned, "state": ""}, window()
        daemon.push(400, 401, {400})
        before = newest_event(daemon, "open")
        assert time.time() < starts, "this machine is too slow for the test"
        assert not before["silenced"], before
        wait_for("before the window it is told", lambda: told(before["id"], "firing"))

        wait_for("the window begins", lambda: window()["state"] == "active")
        daemon.push(401, 410)
        wait_for("the end of what was told is told inside it too", lambda: told(before["id"], "resolved"))
        daemon.push(410, 710, {700})
        came_and_went = newest_event(daemon, "closed")
        daemon.push(710, 1001, {1000})
        lasting = newest_event(daemon, "open")
        assert came_and_went["silenced"] and lasting["silenced"], (came_and_went, lasting)
        daemon.process.terminate()
        assert daemon.process.wait() == 0
        daemon.start()
        assert window()["state"] == "active" and daemon.events()[lasting["id"]]["silenced"]
        assert time.time() < ends - 6, "this machine is too slow for the test"  # open events are shown to notifiers every five seconds
        wait_for("its end comes near", lambda: time.time() > ends - 1)
        assert not {came_and_went["id"], lasting["id"]} & {event for event, _ in hook.alerts()}, hook.alerts()

        wait_for("the window ends by itself", lambda: window()["state"] == "expired")
        wait_for("what still lasts is told", lambda: told(lasting["id"], "firing"), 20)
        assert not daemon.events()[lasting["id"]]["silenced"]
        daemon.push(1001, 1010)
        wait_for("and its end", lambda: told(lasting["id"], "resolved"))
        daemon.push(1010, 1301, {1300})
        after = newest_event(daemon, "open")
        wait_for("after the window it is told again", lambda: told(after["id"], "firing"))
        assert came_and_went["id"] not in {event for event, _ in hook.alerts()}, hook.alerts()
    except BaseException:
        print((work / "log").read_text(), hook.alerts(), sep="\n")
        raise
    finally:
        daemon.kill()


if __name__ == "__main__":
    checks = {"webhook": check_webhook_and_syslog, "alertmanager": check_alertmanager, "maintenance": check_maintenance}
    if sys.argv[3] == "alertmanager":
        need_alertmanager()
    with tempfile.TemporaryDirectory() as folder:
        checks[sys.argv[3]](pathlib.Path(folder))
    print("receivers were told what they should be")
