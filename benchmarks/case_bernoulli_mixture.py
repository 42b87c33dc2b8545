"""BernoulliMixture against stepmix: seconds to the log likelihood that stepmix ends at."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import row, timed
from falsezero import BernoulliMixture
from falsezero.datasets import make_aspect_bernoulli

SAME = 1e-6
"""Relative difference in log likelihood that counts as the same optimum."""


def run(quick: bool) -> list[dict[str, Any]]:
    """Complete, with a tenth of the cells missing, and sparse."""
    from stepmix.stepmix import StepMix

    n_rows, n_columns, k = (200, 40, 3) if quick else (2000, 240, 15)
    X = make_aspect_bernoulli(n_rows, n_columns, k, random_state=0).table.to_numpy()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    BernoulliMixture(2, max_iter=5).fit(X[:100])
    rows = []
    for what, table, kind in (
        ("complete table", X, "binary"),
        ("10 % of the cells missing", holes, "binary_nan"),
    ):
        ours, rival = [], []
        for seed in range(2 if quick else 5):
            options = {"random_state": seed, "verbose": 0, "progress_bar": 0}
            model = StepMix(k, measurement=kind, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, fitted = timed(lambda m=model, t=table: m.fit(t), 1)
                target = fitted.score(table) * len(table)
                target -= SAME * abs(target)
            rival.append(seconds)
            ours.append(_seconds_to(table, k, target, seed))
        line = row(
            f"BernoulliMixture {n_rows} x {n_columns}, K={k}, {what}", "BernoulliMixture",
            "stepmix", "seconds to the rival's likelihood", float(np.median(ours)),
            float(np.median(rival)), "median over seeds, our restarts counted", threads=1,
            headline=f"`BernoulliMixture`, {what}: to the same likelihood",
        )  # fmt: skip
        rows.append(line)
    return rows if quick else [*rows, _sparse(k)]


def _seconds_to(table: np.ndarray, k: int, target: float, seed: int) -> float:
    """Seconds until some restart is as good as the target, all counted; infinite after 50."""
    began = time.perf_counter()
    for restart in range(50):
        model = BernoulliMixture(
            k,
            random_state=1000 * seed + restart,
            callback=lambda line: line["objective"] >= target,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table)
        if model.objective_ >= target:
            return time.perf_counter() - began
    return float("inf")


def _sparse(k: int) -> dict[str, Any]:
    table = sparse.random_array((20000, 2000), density=0.01, rng=np.random.default_rng(0))
    table = (table > 0).astype(float).tocsr()
    seconds, _ = timed(lambda: BernoulliMixture(k, max_iter=50, tol=0.0).fit(table), 1)
    case = f"BernoulliMixture sparse 20000 x 2000, 1 % ones, K={k}"
    note = "stepmix takes no sparse input"
    return row(
        case, "BernoulliMixture", "stepmix", "seconds for 50 iterations", seconds, float("nan"),
        note, threads=1,
    )  # fmt: skip
