#!/usr/bin/env python3
"""picture.py [OUTLIERCTL] > docs/quickstart.svg: while deploy/quickstart.sh runs, asks its daemon for the
newest attack and draws what outlierctl prints on a terminal, colours and all. Nothing is made up."""
import html
import json
import os
import pty
import re
import subprocess
import sys

outlierctl = sys.argv[1] if len(sys.argv) > 1 else "build/release/outlierctl"
SIZE, WIDTH, HEIGHT = 13, 7.83, 17
COLORS = {"31": "#f47067", "32": "#57ab5a", "33": "#c69026", "34": "#539bf5", "36": "#39c5cf"}


def on_a_terminal(*words):
    """What the command prints when it writes to a terminal of 100 columns."""
    leader, follower = pty.openpty()
    subprocess.run(["stty", "cols", "100"], stdin=follower, check=True)
    done = subprocess.Popen([outlierctl, *words], stdin=follower, stdout=follower)
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    if done.wait() != 0:
        sys.exit(f"outlierctl {' '.join(words)} failed")
    return text.decode().replace("\r", "").rstrip("\n").split("\n")


def of_256(number):
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    steps = [0, 95, 135, 175, 215, 255]
    return "#%02x%02x%02x" % (steps[number // 36], steps[number // 6 % 6], steps[number % 6])


def draw_line(text, y):
    """SVG of one line with its escape sequences."""
    out, column, style = [], 0, {"fill": "#cdd9e5", "weight": "", "back": ""}
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if part.startswith("\x1b["):
            codes = part[2:-1]
            if codes in ("0", ""):
                style = {"fill": "#cdd9e5", "weight": "", "back": ""}
            elif codes == "1":
                style["weight"] = ' font-weight="bold"'
            elif codes == "2":
                style["fill"] = "#768390"
            elif codes.startswith("48;5;"):
                style["back"] = of_256(int(codes[5:]))
            elif codes.startswith("38;5;"):
                style["fill"] = of_256(int(codes[5:]))
            elif codes in COLORS:
                style["fill"] = COLORS[codes]
            continue
        if not part:
            continue
        x, width = 16 + column * WIDTH, len(part) * WIDTH
        if style["back"]:
            out.append(f'<rect x="{x:.1f}" y="{y - SIZE}" width="{width:.1f}" height="{HEIGHT}" fill="{style["back"]}"/>')
        if part.strip():
            out.append(f'<text x="{x:.1f}" y="{y}" fill="{style["fill"]}"{style["weight"]} textLength="{width:.1f}" '
                       f'xml:space="preserve">{html.escape(part)}</text>')
        column += len(part)
    return "\n".join(out)


def main():
    found = subprocess.run([outlierctl, "events", "--shape", "ddos", "--limit", "1", "-o", "json"],
                           check=True, capture_output=True, text=True)
    event = json.loads(found.stdout)["items"][0]["id"]
    lines = []
    for words in (("event", event), ("matrix", "demo", "--what", "score")):
        lines += ["\x1b[32m$\x1b[0m outlierctl " + " ".join(words), *on_a_terminal(*words), ""]
    height = len(lines) * HEIGHT + 20
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = int(max(map(len, plain)) * WIDTH) + 48
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
          f'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">')
    print('<title>An attack found by outlierd, as outlierctl shows it</title>')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#22272e"/>')
    for number, line in enumerate(lines):
        if line:
            print(draw_line(line, 24 + number * HEIGHT))
    print("</svg>")


main()
