"""BinaryICA against nbmf-mm: time an iteration, and log likelihood of hidden cells."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import row
from falsezero import AspectBernoulli, BinaryICA
from falsezero.datasets import make_aspect_bernoulli

FEW, MANY = 3, 33


def run(quick: bool) -> list[dict[str, Any]]:
    """Both inferences, one thread for everybody."""
    shape, k = ((200, 40), 3) if quick else ((2000, 240), 15)
    made = make_aspect_bernoulli(*shape, k, random_state=0)
    size = f"{shape[0]} x {shape[1]}, K={k}"
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_iterations(made, size, 3 if quick else 9), *_hidden_cells(made, size)]


def _iterations(made: Any, size: str, repeats: int) -> list[dict[str, Any]]:
    """Processor seconds an iteration, from fits of few and of many, so that set-up falls out."""
    from nbmf_mm import NBMF

    X, k = made.table.to_numpy(), len(made.components)

    def ours(inference: str) -> Callable[[int], Any]:
        options = {"tol": 0, "acceleration": None, "random_state": 0, "inference": inference}
        return lambda n: BinaryICA(k, max_iter=n, **options).fit(X)

    fits = {
        "em": ours("em"),
        "vb": ours("vb"),
        "rival": lambda n: NBMF(k, max_iter=n, tol=0, random_state=0).fit(X),
    }
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    # Taken in turn: what else the machine does then falls on all alike.
    for _ in range(repeats):
        for name, fit in fits.items():
            few, many = (_processor_seconds(fit, n) for n in (FEW, MANY))
            seconds[name].append((many - few) / (MANY - FEW))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return [
        row(
            f"BinaryICA dense {size}", f"BinaryICA {name}", "nbmf-mm",
            "processor seconds an iteration", median[name], median["rival"], "plain steps",
            threads=1, headline=f"`BinaryICA`, {words}, {size}: an iteration",
        )
        for name, words in (("em", "EM"), ("vb", "variational Bayes"))
    ]  # fmt: skip


def _processor_seconds(fit: Callable[[int], Any], n_iterations: int) -> float:
    began = time.process_time()
    fit(n_iterations)
    return time.process_time() - began


def _hidden_cells(made: Any, size: str) -> list[dict[str, Any]]:
    """Mean log likelihood of a tenth of the cells, hidden from everybody."""
    from nbmf_mm import NBMF

    X, k = made.table.to_numpy(), len(made.components)
    hidden = np.random.default_rng(1).random(X.shape) < 0.1

    def score(p: np.ndarray) -> float:
        p = np.clip(p[hidden], 1e-9, 1 - 1e-9)
        return float(np.where(X[hidden] == 1, np.log(p), np.log1p(-p)).mean())

    holed = np.where(hidden, np.nan, X)
    bayes = BinaryICA(k, random_state=0).fit(holed)
    likeliest = AspectBernoulli(k, random_state=0).fit(holed)
    rival = NBMF(k, max_iter=500, random_state=0)
    rival.fit(np.where(hidden, 0, X), mask=(~hidden).astype(float))
    ours = score(bayes.row_weights_ @ bayes.components_)
    note = f"10 % of cells hidden; the truth has {score(made.weights @ made.components):.4f}"
    quantity = "log likelihood a hidden cell"
    others = {
        "nbmf-mm": score(np.asarray(rival.W_) @ np.asarray(rival.components_)),
        "AspectBernoulli": score(likeliest.row_weights_ @ likeliest.components_),
    }
    return [
        row(
            f"BinaryICA {size}, hidden cells", "BinaryICA vb", name, quantity, ours, other, note,
            threads=1, yardstick=name == "AspectBernoulli",
        )
        for name, other in others.items()
    ]  # fmt: skip
