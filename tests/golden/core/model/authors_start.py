#!/usr/bin/env python3
"""authors_start.py [SLICE,SLICE,...] [DRAWS]: how far the authors' random start decides their own low-rank part.

The printed rules on the all-observed Abilene week, written a second time, in numpy and apart from core/model. For each slice: the relative
difference of L to data/golden with S started at zero, and with S started as unit noise (as the authors do), DRAWS times; behind the
stroke, the difference of that draw to the start at zero. Where draws differ among themselves by more than 1e-6, no program without
the authors' random numbers can agree better. Needs numpy and ../shared/data (or $OUTLIERD_DATA)."""
import csv, gzip, os, pathlib, sys
import numpy as np

W, R, MU = 20, 10, 0.98
DATA = pathlib.Path(os.environ.get("OUTLIERD_DATA") or pathlib.Path(__file__).resolve().parents[5] / "shared/data")


def matrices(name):  # destination x origin: the authors' first mode is the destination
    with gzip.open(DATA / name, "rt") as file:
        rows = list(csv.reader(file))[1:101]
    return np.array([[float(v) for v in row[1:]] for row in rows]).reshape(-1, 11, 11).transpose(0, 2, 1)


def moments(mean, variance):
    return variance + mean[:, :, None] * mean[:, None, :]


def leading(window, mode):  # U S^(1/2) of one unfolding
    unfolded = np.moveaxis(np.moveaxis(window, 0, 2), mode, 0)
    u, s, _ = np.linalg.svd(unfolded.reshape(len(unfolded), -1, order="F"), full_matrices=False)
    return u[:, :R] * np.sqrt(s[:R])


def low_rank(window, sweeps, S):
    A, B, C = (leading(window, mode) for mode in range(3))
    VA, VB, VC = (np.array([np.eye(R)] * len(f)) for f in (A, B, C))
    lam, tau, gamma, sigma2 = np.ones(R), 1.0, np.ones((11, 11)), np.ones((11, 11))
    weight = MU ** np.arange(W - 1, -1, -1.0)
    newest = window[-1]
    for _ in range(sweeps):
        D = window.copy()
        D[-1] = newest - S
        cc = np.einsum("t,trs->rs", weight, moments(C, VC))

        def factor(data, other, V_other):
            V = np.linalg.inv(tau * moments(other, V_other).sum(0) * cc + np.diag(lam))
            products = np.einsum("t,tij,jr,tr->ir", weight, data, other, C, optimize=True)
            return tau * products @ V, np.array([V] * 11)

        A, VA = factor(D, B, VB)
        B, VB = factor(D.transpose(0, 2, 1), A, VA)
        Q = moments(A, VA).sum(0) * moments(B, VB).sum(0)
        products = np.einsum("tij,ir,jr->tr", D, A, B, optimize=True)
        VC = np.array([np.linalg.inv(tau * w * Q + np.diag(lam)) for w in weight])
        C = tau * weight[:, None] * np.einsum("trs,ts->tr", VC, products)
        squares = sum((f**2).sum(0) + np.einsum("irr->r", v) for f, v in ((A, VA), (B, VB), (C, VC)))
        lam = (1e-6 + 22 / 2 + 1) / (1e-6 + squares / 2)
        L, d = (A * C[-1]) @ B.T, D[-1]
        second = (Q * moments(C[-1:], VC[-1:])[0]).sum()
        tau = (1e-6 + 121 / 2) / (1e-6 + ((d**2).sum() - 2 * (d * L).sum() + second + sigma2.sum()) / 2)
        sigma2 = 1 / (gamma + tau)
        S = sigma2 * tau * (newest - L)
        gamma = (1e-6 + 0.5) / (1e-6 + 0.5 * (S**2 + sigma2))
    return L


def main():
    slices = [int(t) for t in sys.argv[1].split(",")] if len(sys.argv) > 1 else range(19, 100)
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    week, golden = matrices("traffic/abilene-sand-week.csv.gz"), matrices("golden/brst-full-lowrank.csv.gz")
    with open(DATA / "golden/brst-full-slices.csv") as file:
        sweeps = [int(row[1]) for row in list(csv.reader(file))[1:]]
    for t in slices:
        window, size = week[t - W + 1 : t + 1], np.linalg.norm(golden[t])
        at_zero = low_rank(window, sweeps[t], np.zeros((11, 11)))
        drawn = [low_rank(window, sweeps[t], np.random.default_rng(k).standard_normal((11, 11))) for k in range(draws)]
        print("slice %d, %d sweeps: %.1e; drawn:" % (t, sweeps[t], np.linalg.norm(at_zero - golden[t]) / size),
              " ".join("%.1e/%.1e" % (np.linalg.norm(L - golden[t]) / size, np.linalg.norm(L - at_zero) / size) for L in drawn), flush=True)


if __name__ == "__main__":
    main()
