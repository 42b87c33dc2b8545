"""NoisyOr against tvlearn's tvo (a figure kept from an earlier run) and the paper's own E-step."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz
from benchmarks.harness import row, timed

OURS, PAPER = "NoisyOr", "NoisyOr, factorised (the paper's)"
TVO_EPOCH = 17.5
"""Seconds an epoch of tvo's NoisyOR (30 states, batches of 100 rows) on 2000 x 240, 15 sources.

tvo is not on PyPI and needs PyTorch and MPI; the figure was measured once on two cores."""


def run(quick: bool) -> list[dict[str, Any]]:
    """All comparisons; the quick form leaves out the large sparse table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if quick:
            return _images(200)
        return [_epoch(), *_images(2000), _large()]


def _iteration(X: Any, n_sources: int, n_iter: int = 8, **options: Any) -> float:
    """Median seconds of a plain iteration, two threads."""
    model = fz.NoisyOr(
        n_sources, max_iter=n_iter, tol=0, acceleration=None, n_jobs=2, random_state=0, **options
    ).fit(X)
    seconds = [r["seconds"] for r in model.history_]
    return float(statistics.median(np.diff(seconds[1:])))


def _epoch() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(15, 0.2), 2000) @ rng.beta(0.5, 1.2, (15, 240))
    ours = _iteration((rng.random(p.shape) < p).astype(float), 15)
    note = "tvo's figure is from an earlier run, not measured beside ours"
    case, quantity = "NoisyOr 2000 x 240, K=15", "seconds an iteration"
    return row(case, OURS, "tvo", quantity, ours, TVO_EPOCH, note, threads=2, yardstick=True)


def _images(n_rows: int) -> list[dict[str, Any]]:
    train = fz.datasets.make_noisy_or_images(n_rows, random_state=0).table
    test = fz.datasets.make_noisy_or_images(n_rows, random_state=1).table
    fits = {}
    for inference in ("truncated", "factorised"):
        model = fz.NoisyOr(8, inference=inference, n_jobs=2, random_state=0)
        model.fit(train)
        seconds, _ = timed(lambda model=model: model.fit(train))
        fits[inference] = seconds, float(model.log_likelihood(test).mean())
    case = f"NoisyOr images {n_rows} x 64, K=8"
    names = ("seconds, whole fit", "held-out log likelihood a row")
    return [
        row(case, OURS, PAPER, name, ours, paper, threads=2, yardstick=True)
        for name, ours, paper in zip(names, fits["truncated"], fits["factorised"], strict=True)
    ]


def _large() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n_rows, n_columns, n_sources = 100_000, 5000, 20
    on = sparse.random_array((n_rows, n_sources), density=0.04, rng=rng, data_sampler=_ones)
    links = sparse.random_array((n_sources, n_columns), density=0.004, rng=rng, data_sampler=_ones)
    noise = sparse.random_array((n_rows, n_columns), density=0.002, rng=rng, data_sampler=_ones)
    table = sparse.csr_array((on @ links + noise) > 0).astype(float)
    ours = _iteration(table, n_sources, n_iter=5)
    paper = _iteration(table, n_sources, n_iter=5, inference="factorised")
    case = f"NoisyOr 100000 x 5000, {100 * table.nnz / n_rows / n_columns:.2f} % ones, K=20"
    quantity = "seconds an iteration"
    return row(case, OURS, PAPER, quantity, ours, paper, threads=2, yardstick=True)


def _ones(size: Any) -> np.ndarray:
    return np.ones(size)
