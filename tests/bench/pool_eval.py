#!/usr/bin/env python3
"""pool_eval.py TOOL FOLDER [--jobs N] [--seeds 1,2] [--only material|subtle]: pooled figures over injected sets.

FOLDER holds NAME.csv.gz and NAME.labels.json as eval/inject.py writes them. TOOL is outlierd_detect_eval. The clean twin of a set
is the same stretch of its source. Computes what eval/score.py does, per set, and pools the events. Needs numpy.

A recall at one budget hangs on one threshold a stretch and jumps by two points with the least change: "around" is the mean of three
budgets, at, above and below, and what choices are made by."""
import argparse, collections, concurrent.futures, glob, json, os, subprocess, sys, tempfile
import numpy as np


BUDGETS = (0.7, 1, 1.4, 2, 3, 4, 7, 10, 14)
NAMED = (1, 4, 7)  # of these, what is asked for


def alarms(over, hour):
    at = np.flatnonzero(over)
    if not len(at): return 0
    cut = np.flatnonzero(np.diff(at) > 3)
    first, last = at[np.r_[0, cut + 1]], at[np.r_[cut, len(at) - 1]]
    return int((1 + (last - first) // hour).sum())


def threshold(peaks, budget, hour):
    best = peaks.max()
    for level in np.sort(np.unique(peaks))[::-1]:
        if alarms(peaks > level, hour) > budget: break
        best = level
    return best


def run(tool, file, raw, extra):
    out = subprocess.run([tool, file, "--raw", raw] + extra, capture_output=True, text=True, check=True).stdout
    return out.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool"); parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=2); parser.add_argument("--seeds", default=""); parser.add_argument("--only", default="")
    parser.add_argument("--names", default=""); parser.add_argument("--extra", default="", help="options for TOOL")
    a = parser.parse_args()
    sets = []
    for path in sorted(glob.glob(os.path.join(a.folder, "*.labels.json"))):
        labels = json.load(open(path))
        if a.seeds and str(labels["seed"]) not in a.seeds.split(","): continue
        if a.only and labels["profile"] != a.only: continue
        if a.names and not any(os.path.basename(path).startswith(n) for n in a.names.split(",")): continue
        sets.append((path[:-12], labels))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as tmp, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        twins = {}
        for _, l in sets: twins.setdefault((l["source"], l["start"], l["days"]), os.path.join(tmp, "clean%d" % len(twins)))
        jobs = {raw: pool.submit(run, a.tool, key[0], raw, ["--start", key[1], "--days", str(key[2])] + a.extra.split()) for key, raw in twins.items()}
        jobs2 = [pool.submit(run, a.tool, name + ".csv.gz", os.path.join(tmp, "set%d" % i), a.extra.split()) for i, (name, _) in enumerate(sets)]
        for key, raw in twins.items(): print(jobs[raw].result())
        found = collections.defaultdict(list)
        cache = {}
        for i, (name, l) in enumerate(sets):
            jobs2[i].result()
            with __import__("gzip").open(name + ".csv.gz", "rt") as f: cols = f.readline().rstrip("\n").split(",")[1:]
            index = {c: k for k, c in enumerate(cols)}
            load = lambda p: np.nan_to_num(np.abs(np.fromfile(p, np.float32).reshape(-1, len(cols))))
            raw = twins[(l["source"], l["start"], l["days"])]
            start, hour = l["clean_until_bin"], max(1, round(3600 / l["step_s"]))
            if raw not in cache:
                clean = load(raw); peaks = clean[start:].max(1); days = len(peaks) * l["step_s"] / 86400
                cache[raw] = clean, [threshold(peaks, b * days, hour) for b in BUDGETS]
            clean, levels = cache[raw]
            hit = load(os.path.join(tmp, "set%d" % i))
            os.remove(os.path.join(tmp, "set%d" % i))
            for e in l["labels"]:
                w = slice(e["first_bin"], e["first_bin"] + e["bins"]); c = [index[p] for p in e["pairs"]]
                h, b = hit[w][:, c], clean[w][:, c]
                got = [bool(h.max() > t and b.max() <= t) for t in levels]
                delay = [int(np.argmax(h.max(1) > t)) if g else None for t, g in zip(levels, got)]
                n = np.sort(b.ravel()); p = h.ravel()
                auc = (np.searchsorted(n, p, "left") + np.searchsorted(n, p, "right")).sum() / (2 * len(p) * len(n))
                found[l["profile"]].append((os.path.basename(name), e["kind"], got, auc, delay, e["size"], h.max(), levels))
    for profile, events in found.items():
        all_got = np.array([e[2] for e in events]); aucs = np.array([e[3] for e in events])
        got = all_got[:, NAMED]; around = all_got.mean(0).reshape(3, 3).mean(1)
        rng = np.random.default_rng(1); picks = rng.integers(0, len(events), (1000, len(events)))
        boots = got[picks].mean(1)
        print("%-9s %4d events  recall %.3f / %.3f / %.3f  around %.3f / %.3f / %.3f  auc %.3f   95%% %s" % (profile, len(events), *got.mean(0), *around, aucs.mean(),
              " ".join("[%.3f %.3f]" % tuple(np.percentile(boots[:, k], [2.5, 97.5])) for k in range(3))))
        for group in (lambda e: e[0].split("-")[0], lambda e: e[1]):
            parts = collections.defaultdict(list)
            for e in events: parts[group(e)].append(e)
            print("   " + "  ".join("%s(%d) %s %.2f" % (k, len(v), "/".join("%.2f" % x for x in np.mean([e[2] for e in v], 0)[list(NAMED)]), np.mean([e[3] for e in v]))
                                   for k, v in sorted(parts.items())))
        delays = [e[4][NAMED[1]] for e in events if e[2][NAMED[1]] and e[1] in ("spike", "ddos", "scan", "outage", "shift", "dip", "step")]
        print("   median delay of abrupt kinds at 3 a day:", np.median(delays) if delays else None)


if __name__ == "__main__":
    main()
