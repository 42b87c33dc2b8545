"""Binary matrix factorization paper, section 4.1: bars (Figs. 2 and 3), split-merge moves."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.tidy import Tidy
from falsezero.experiments._report import Report
from falsezero.experiments.binary_matrix_factorization.strips import N_SHOWN, strip
from falsezero.models.bmf.binary_matrix_factorization import BinaryMatrixFactorization
from falsezero.plot import CurvesDisplay

__all__ = ["bars", "make_bars"]

SIDE = 8


class Bars(NamedTuple):
    """Images of bars, as they are, as they were drawn and as they are shown to the model."""

    clean: np.ndarray
    noisy: np.ndarray
    shown: np.ndarray
    n_row_features: int
    column_features: np.ndarray
    basis: np.ndarray


def make_bars(
    rng: np.random.Generator, n: int = 200, n_missing: int = 50, concentration: float = 2.0
) -> Bars:
    """Section 4.1: V is the 16 bars of 8 x 8 images, U from the Indian buffet, theta = phi = 1/2.

    The paper does not give the concentration. With 1 most images have no feature or one; with 2 an
    image has two on average, and its bars overlap as those of Figure 2.

    >>> make_bars(np.random.default_rng(0), n=20, n_missing=5).shown.shape
    (20, 64)
    """
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    on = np.hstack([rows[:, None] == np.arange(SIDE), columns[:, None] == np.arange(SIDE)])
    u = _buffet(n, concentration, rng)
    weights = rng.standard_normal((u.shape[1], 2 * SIDE)) * np.sqrt(2)
    clean = u @ weights @ on.T
    noisy = clean + rng.standard_normal(clean.shape) * np.sqrt(2)
    shown = noisy.copy()
    shown[rng.choice(n, n_missing, replace=False), SIDE * SIDE // 2 :] = np.nan
    return Bars(clean, noisy, shown, u.shape[1], on, weights @ on.T)


def _buffet(n: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    u = np.zeros((n, 0))
    for i in range(n):
        u[i] = rng.random(u.shape[1]) * (i + 1) < u[:i].sum(axis=0)
        new = np.zeros((n, rng.poisson(concentration / (i + 1))))
        new[i] = 1
        u = np.hstack([u, new])
    return u


def bars(report: Report) -> None:
    """Figures 2 and 3: missing bottom halves of images of bars, with and without split-merge."""
    report.section("Figures 2 and 3: bars")
    n_sets, sweeps = (3, 400) if report.quick else (10, 2000)
    rows, curves = [], {}
    for number in range(n_sets):
        made = make_bars(np.random.default_rng(number))
        models, costs = {}, {}
        for split_merge in (0, 1):
            began = time.process_time()
            model = BinaryMatrixFactorization(
                likelihood="gaussian", bias=False, n_chains=2, warmup=sweeps // 2,
                n_draws=sweeps // 2, split_merge=split_merge, start="prior", random_state=number,
                n_jobs=2,
            )  # fmt: skip
            models[split_merge] = model.fit(made.shown)
            costs[split_merge] = (time.process_time() - began) / (2 * sweeps)
        found = _bars_found(made, models, costs)
        rows.append({"set": number, **found, "r_hat": models[1].r_hat_, "ess": models[1].ess_})
        curves = {
            f"{'with' if number else 'without'} split-merge": _path(model, costs[number])
            for number, model in models.items()
        }
    table = Tidy.from_rows(rows)
    report.table(table, "Row features and errors at missing cells, one line per data set.")
    display = CurvesDisplay(curves, "seconds of processor time", "log joint density").plot()
    caption = "Log joint density against time, last data set, first chain."
    report.figure(display, caption, "Section 3.3, moves")
    _show_bars(report, made, models[1])
    _judge_bars(report, table)


def _bars_found(made: Bars, models: dict[int, Any], costs: dict[int, float]) -> dict[str, Any]:
    """What both fits of a data set found; `costs` are seconds of processor time a sweep."""
    missing = np.isnan(made.shown)
    floor = _rms((made.clean - made.noisy)[missing])
    best = models[1]
    found = np.median([c["n_row_features"] for c in best.chains_])
    target = min(float(np.mean(m.chains_[0]["log_joint"])) for m in models.values()) - 20
    sweeps = {number: _reached(model, target) for number, model in models.items()}
    return {
        "true features": made.n_row_features,
        "found": float(found),
        "column features": float(np.median([c["n_column_features"] for c in best.chains_])),
        "error / noise": _rms((best.posterior_predict() - made.noisy)[missing]) / floor,
        "without split-merge": _rms((models[0].posterior_predict() - made.noisy)[missing]) / floor,
        "seconds to the same density": costs[1] * sweeps[1],
        "seconds without": costs[0] * sweeps[0],
        "sweeps": sweeps[1],
        "sweeps without": sweeps[0],
    }


def _judge_bars(report: Report, table: Tidy) -> None:
    ratio = table["error / noise"]
    report.claim(
        "Figure 2",
        "missing halves are restored well despite the noise",
        f"error / noise: median {np.median(ratio):.3f}, worst {ratio.max():.3f}",
        bool((ratio < 1.15).all()),
        ours="an error within 15 % of the noise, which no restoration can beat",
    )
    near = np.abs(table["found"] - table["true features"]) <= 2
    report.claim(
        "Figure 3",
        "the features learned are fairly similar to those that made the data",
        f"their number is within 2 of the truth in {near.sum()} of {len(near)} data sets",
        bool(near.mean() >= 0.8),
        ours="in 80 % of the data sets",
    )
    for unit, name in (("seconds", "seconds to the same density"), ("sweeps", "sweeps")):
        ours, plain = np.median(table[name]), np.median(table[f"{unit} without"])
        report.claim(
            "Section 3.3, moves",
            f"split-merge shortens the way to the same density, in {unit}",
            f"median {ours:.3g} with, {plain:.3g} without",
            bool(ours < plain),
        )


def _show_bars(report: Report, made: Bars, model: Any) -> None:
    some = np.flatnonzero(np.isnan(made.shown).any(axis=1))[:N_SHOWN]
    complete = np.flatnonzero(~np.isnan(made.shown).any(axis=1))
    top = slice(0, SIDE * SIDE // 2)
    distance = ((made.noisy[some][:, None, top] - made.noisy[complete][None, :, top]) ** 2).sum(2)
    pictures = {
        "A: noisy images": made.noisy[some],
        "B: without noise": made.clean[some],
        "C: as given, missing cells at their expected value 0": np.nan_to_num(made.shown[some]),
        "D: mean reconstruction": model.posterior_predict()[some],
        "E: noise-free nearest neighbour by the top half": made.clean[
            complete[distance.argmin(axis=1)]
        ],
    }
    for caption, values in pictures.items():
        strip(report, values, (SIDE, SIDE), f"Figure 2 {caption}.", "Figure 2")
    for caption, values in {
        "column features V that made the data": made.column_features.T,
        "column features V of a draw": model.column_features_.T,
        "basis images W V' that made the data": made.basis,
        "basis images W V' of a draw": model.components_,
    }.items():
        strip(report, values, (SIDE, SIDE), f"Figure 3: {caption}.", "Figure 3")


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def _path(model: Any, cost: float) -> tuple[list[float], list[float]]:
    """Seconds of processor time, at so many a sweep, and log joint of the first chain."""
    history = [row for row in model.history_ if row["chain"] == 0][:: max(1, model.n_iter_ // 100)]
    return [cost * row["iteration"] for row in history], [row["objective"] for row in history]


def _reached(model: Any, target: float) -> float:
    """The sweep in which the first chain first reached a log joint density."""
    reached = [
        row["iteration"]
        for row in model.history_
        if row["chain"] == 0 and row["objective"] > target
    ]
    return float(reached[0]) if reached else float("inf")
