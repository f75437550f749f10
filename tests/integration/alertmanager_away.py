#!/usr/bin/env python3
"""alertmanager_away.py OUTLIERD OUTLIERCTL [SECONDS]: a real Alertmanager is away for ten real minutes (SECONDS) while events go
on, open, are acknowledged, close and come and go, and while the daemon is killed and started again. Then it comes back: whom it
tells hears of every event's beginning and end once, as one who was never away did. Long: tests/full.sh runs it, CI does not.
Skipped (77) where Alertmanager is not installed."""
import collections
import pathlib
import sys
import tempfile
import time
import urllib.error

from notify import Alertmanager, Daemon, Receiver, need_alertmanager, newest_event, wait_for

away = float(sys.argv[3]) if len(sys.argv) > 3 else 600.0
need_alertmanager()
begun = time.monotonic()


def say(*words):
    print(f"{time.monotonic() - begun:6.0f} s ", *words, flush=True)


def wait_until(left, share):
    """Until that share of the time away has passed."""
    time.sleep(max(0.0, left + share * away - time.monotonic()))


def doubled(alerts):
    return {told: times for told, times in collections.Counter(alerts).items() if times > 1}


def acknowledged(daemon, event):
    try:
        return daemon.ask(f"/api/v1/events/{event}/ack", {"by": "ann", "comment": "seen"})
    except urllib.error.HTTPError as error:
        assert error.code == 503, error  # it is not stored yet
        return None


def check(work):
    receiver, hook = Receiver(), Receiver()
    manager = Alertmanager(work, receiver)
    manager.start()
    to_manager, to_hook = f"{{alertmanager: 'http://127.0.0.1:{manager.port}'}}", f"{{webhook: 'http://127.0.0.1:{hook.port}'}}"
    daemon = Daemon(work, [to_manager, to_hook])
    queued = lambda: daemon.metric("outlierd_notify_queued", "alertmanager")
    try:
        daemon.push(0, 401, {400})
        first = newest_event(daemon, "open")["id"]
        wait_for("the first is told", lambda: (first, "firing") in receiver.alerts())

        manager.stop()
        left = time.monotonic()
        say("Alertmanager is gone; open:", first)
        daemon.push(401, 405, set(range(401, 405)))  # goes on
        wait_until(left, 0.1)
        daemon.push(405, 415)
        assert daemon.events()[first]["state"] == "closed"
        wait_until(left, 0.2)
        daemon.push(415, 701, {700})
        second = newest_event(daemon, "open")["id"]
        wait_for("acknowledged", lambda: acknowledged(daemon, second))
        say("opened and acknowledged:", second, "waiting:", queued())
        wait_until(left, 0.4)
        daemon.push(701, 710)
        daemon.push(710, 1010, {1000})  # comes and goes unseen
        third = newest_event(daemon, "closed")["id"]
        say("came and went:", third, "waiting:", queued())
        wait_until(left, 0.5)
        waiting = queued()
        daemon.kill()  # -9
        daemon.start()
        wait_for("what waited waits still", lambda: queued() == waiting)
        wait_until(left, 0.7)
        daemon.push(1010, 1301, {1300})
        fourth = newest_event(daemon, "open")["id"]
        assert len({first, second, third, fourth}) == 4
        say("opened and stays open:", fourth, "waiting:", queued())
        wait_until(left, 1.0)
        failed = daemon.metric("outlierd_notify_failed_total", "alertmanager")
        say("waiting:", queued(), "failed tries since the restart:", failed)

        back = time.monotonic()
        manager.start()
        say(f"Alertmanager is back after {back - left:.0f} s")
        wait_for("the fourth is shown", lambda: fourth in manager.shown(), 180)
        say(f"told {time.monotonic() - back:.1f} s after it was back")
        assert first not in manager.shown()
        daemon.push(1301, 1310)
        events = daemon.events()
        assert all(event["state"] == "closed" for event in events.values()), events
        expected = sorted((event, status) for event in events for status in ("firing", "resolved"))
        wait_for("everything is told", lambda: len(set(receiver.alerts())) >= len(expected), 180)
        wait_for("nothing is shown", lambda: manager.shown() == {}, 60)
        time.sleep(30)  # for what might come twice
        told = receiver.alerts()
        assert sorted(set(told)) == expected, (told, expected)
        assert not doubled(told), doubled(told)
        # Never away: told of the beginning and the end of the same events.
        assert {(event, status) for event, status in hook.alerts()} == set(expected), hook.alerts()
        assert not doubled(one for one in hook.alerts() if one[1] == "resolved"), hook.alerts()
        assert queued() == 0 and daemon.metric("outlierd_notify_dropped_total", "alertmanager") == 0
        say(f"{len(events)} events, {len(told)} tellings: nothing lost, nothing doubled")
    except BaseException:
        print((work / "log").read_text()[-20000:], (work / "alertmanager.log").read_text()[-5000:], receiver.alerts(), sep="\n")
        raise
    finally:
        daemon.kill()
        manager.process.kill()
        manager.process.wait()


with tempfile.TemporaryDirectory() as folder:
    check(pathlib.Path(folder))
