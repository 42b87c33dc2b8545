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

COMPONENTS = 15
SAME = 1e-6
"""Relative difference in log likelihood that counts as the same optimum."""


def run(quick: bool) -> list[dict[str, Any]]:
    """Complete, with a tenth of the cells missing, and sparse."""
    from stepmix.stepmix import StepMix

    X = make_aspect_bernoulli(2000, 240, COMPONENTS, random_state=0).table.to_numpy()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    BernoulliMixture(2, max_iter=5).fit(X[:100])
    seeds = range(3 if quick else 5)
    rows = []
    for case, table, kind in (("complete", X, "binary"), ("10 % missing", holes, "binary_nan")):
        ours, rival = [], []
        for seed in seeds if kind == "binary" or not quick else (0,):
            options = {"random_state": seed, "verbose": 0, "progress_bar": 0}
            model = StepMix(COMPONENTS, measurement=kind, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, fitted = timed(lambda m=model, t=table: m.fit(t), 1)
                target = fitted.score(table) * len(table)
                target -= SAME * abs(target)
            rival.append(seconds)
            ours.append(_seconds_to(table, target, seed))
        note = "2000 x 240, 15 components, median over seeds, our restarts counted"
        quantity = "seconds to the rival's likelihood"
        medians = float(np.median(ours)), float(np.median(rival))
        rows.append(row(case, "BernoulliMixture", "stepmix", quantity, *medians, note))
    return [*rows, _sparse()]


def _seconds_to(table: np.ndarray, target: float, seed: int) -> float:
    """Seconds until some restart is as good as the target, all counted; infinite after 50."""
    began = time.perf_counter()
    for restart in range(50):
        model = BernoulliMixture(
            COMPONENTS,
            random_state=1000 * seed + restart,
            callback=lambda line: line["objective"] >= target,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table)
        if model.objective_ >= target:
            return time.perf_counter() - began
    return float("inf")


def _sparse() -> dict[str, Any]:
    table = sparse.random_array((20000, 2000), density=0.01, rng=np.random.default_rng(0))
    table = (table > 0).astype(float).tocsr()
    seconds, _ = timed(lambda: BernoulliMixture(COMPONENTS, max_iter=50, tol=0.0).fit(table), 1)
    note = "20000 x 2000 at 1 %, 50 iterations; stepmix takes no sparse input"
    return row("sparse", "BernoulliMixture", "stepmix", "seconds", seconds, float("nan"), note)
