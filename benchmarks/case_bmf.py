"""BinaryMatrixFactorization: a sweep against plain NumPy, growth with cells, and held-out cells."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from benchmarks.harness import row, timed
from benchmarks.plain_bmf import plain_sweep
from falsezero import BinaryMatrixFactorization
from falsezero.experiments.binary_matrix_factorization import make_bars
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.sampler import Model, sweep
from falsezero.models.bmf.state import Cells, Features, State

OURS = "BinaryMatrixFactorization"


def run(quick: bool) -> list[dict[str, Any]]:
    """All comparisons; the quick form takes smaller tables and fewer repeats."""
    with threadpool_limits(1, user_api="blas"):
        shape, k = ((60, 50), 5) if quick else ((300, 256), 15)
        tables = (("gaussian", 0.0), ("gaussian", 0.2), ("logistic", 0.0), ("poisson", 0.0))
        rows = [_sweep(name, shape, missing, k) for name, missing in tables]
        rows += _growth(((60, 50), (120, 100)) if quick else ((300, 256), (600, 512), (1200, 1024)))
        return rows if quick else [*rows, _bars_against_nmf()]


def situation(
    name: str, n_rows: int, n_columns: int, missing: float = 0.0, k: int = 15
) -> tuple[State, Cells, Model]:
    """A table from the model with `k` features on each side, and the state that made it."""
    rng = np.random.default_rng(0)
    likelihood = LIKELIHOODS[name]
    u = np.hstack([np.ones((n_rows, 1)), rng.random((n_rows, k)) < 0.2]).astype(np.uint8)
    v = np.hstack([np.ones((n_columns, 1)), rng.random((n_columns, k)) < 0.2]).astype(np.uint8)
    weights = likelihood.prior_weights((k + 1, k + 1), 8.0 if name == "poisson" else 1.0, rng)
    state = State(Features(u, 1, k, 2.0), Features(v, 1, k, 2.0), weights, 1.0, 1.0)
    table = likelihood.simulate(state.predictor(), 1.0, rng)
    table[rng.random(table.shape) < missing] = np.nan
    model = Model(likelihood, u[:, :1], v[:, :1], k, k, n_split_merge=0)
    return state, Cells.of(table), model


def _sweep(name: str, shape: tuple[int, int], missing: float, k: int) -> dict[str, Any]:
    """A sweep of entries, weights and hyperparameters of the finite model."""
    state, cells, model = situation(name, *shape, missing, k)
    rng = np.random.default_rng(0)
    sweep(state, cells, model, rng)
    ours, _ = timed(lambda: sweep(state, cells, model, rng), 9)
    rival, _ = timed(lambda: plain_sweep(state, cells, model, rng), 1)
    size = f"{shape[0]} x {shape[1]}, {k} features a side"
    what = f"{name}, {size}" + (", 20 % missing" if missing else "")
    return row(
        f"{OURS} {what}", OURS, "plain NumPy", "seconds a sweep", ours, rival,
        "same moves", threads=1, yardstick=True,
        headline=f"`{OURS}`, {size}: a sweep",
    )  # fmt: skip


def _growth(sizes: tuple[tuple[int, int], ...]) -> list[dict[str, Any]]:
    """Time a cell when the cells are four times as many: a ratio of 1 is linear growth."""
    rows = []
    for name in ("gaussian", "logistic"):
        seconds = []
        for shape in sizes:
            state, cells, model = situation(name, *shape)
            rng = np.random.default_rng(0)
            sweep(state, cells, model, rng)
            time, _ = timed(lambda s=state, c=cells, m=model, g=rng: sweep(s, c, m, g), 5)
            seconds.append(1e9 * time / cells.values.size)
        for (small, large), (before, after) in zip(pairwise(sizes), pairwise(seconds), strict=True):
            line = row(
                f"{OURS} {name}, growth with cells", f"{large[0]} x {large[1]}",
                f"{small[0]} x {small[1]}", "nanoseconds a cell and sweep", after, before,
                "four times the cells", threads=1, yardstick=True,
            )  # fmt: skip
            rows.append(line)
    return rows


def _bars_against_nmf() -> dict[str, Any]:
    """Missing halves of bars: ours against NMF of the mean-filled, shifted table."""
    made = make_bars(np.random.default_rng(4), concentration=1.0)
    missing = np.isnan(made.shown)
    model = BinaryMatrixFactorization(
        likelihood="gaussian", bias=False, n_chains=2, warmup=300, n_draws=200, random_state=0
    ).fit(made.shown)
    low = np.nanmin(made.shown)
    filled = np.where(missing, np.nanmean(made.shown, axis=0), made.shown) - low
    nmf = NMF(9, init="nndsvda", max_iter=1000, random_state=0)
    guess = nmf.fit_transform(filled) @ nmf.components_ + low

    def error(expected: np.ndarray) -> float:
        return float(np.sqrt(((expected - made.noisy)[missing] ** 2).mean()))

    floor = error(made.clean)
    return row(
        f"{OURS} bars, bottom halves missing", OURS, "scikit-learn NMF", "error / noise",
        error(model.posterior_predict()) / floor, error(guess) / floor, "missing cells", threads=1,
    )  # fmt: skip
