"""Noisy-or paper, section 4.3: running time (Fig. 8)."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from falsezero.experiments._report import Report
from falsezero.experiments.noisy_or.algorithms import PAPER, fit_sources
from falsezero.experiments.noisy_or.images import N_PATTERNS, make_images
from falsezero.plot import CurvesDisplay

LINEAR = (0.75, 1.25)
"""Between these powers growth is called linear."""


class FitCost(NamedTuple):
    """Processor time and iterations of a fit."""

    seconds: float
    iterations: int


def run_time(report: Report) -> None:
    """Growth of the time of the paper's algorithm in rows and in sources (Fig. 8)."""
    report.section(
        "Figure 8: running time",
        "Seconds of processor time of the paper's algorithm, fits run until the bound gains less "
        "than 1e-5 of itself an iteration.",
    )
    rows = (125, 500, 2000) if report.quick else (250, 500, 1000, 2000, 4000)
    sources = (4, 8, 16) if report.quick else (4, 6, 8, 12)
    size = 500 if report.quick else 2000
    _timed(100, 2)
    by_rows, by_sources = [_timed(n, N_PATTERNS) for n in rows], [_timed(size, k) for k in sources]
    for x, fits, item, label in (
        (rows, by_rows, "Figure 8 (a)", "training images"),
        (sources, by_sources, "Figure 8 (b)", "assumed sources"),
    ):
        _judge(report, np.asarray(x), fits, item, label)
    counts = [fit.iterations for fit in (*by_rows, *by_sources)]
    trend = [
        abs(float(np.polyfit(np.log(x), np.log([f.iterations for f in fits]), 1)[0]))
        for x, fits in ((rows, by_rows), (sources, by_sources))
    ]
    report.claim(
        "Section 4.3",
        "the number of EM iterations depends neither on the images nor on the sources",
        f"{counts} iterations; powers {trend[0]:.2f} and {trend[1]:.2f}",
        max(trend) < 0.2,
        ours="a power of 0.2",
    )


def _judge(report: Report, x: np.ndarray, fits: list[FitCost], item: str, label: str) -> None:
    whole = [fit.seconds for fit in fits]
    each = [fit.seconds / fit.iterations for fit in fits]
    curves = {"whole fit": (x, whole), "an iteration": (x, each)}
    display = CurvesDisplay(curves, label, "seconds of processor time").plot()
    display.ax_.set(xscale="log", yscale="log")
    display.ax_.set_xticks(x, [f"{value:g}" for value in x])
    display.ax_.minorticks_off()
    report.figure(display, f"{item}: running time.", item)
    for what, seconds in (("a whole fit", whole), ("an iteration", each)):
        power = float(np.polyfit(np.log(x), np.log(seconds), 1)[0])
        report.claim(
            item,
            f"time of {what} grows linearly with the {label}",
            f"power {power:.2f}",
            LINEAR[0] <= power <= LINEAR[1],
            ours=f"a power between {LINEAR[0]} and {LINEAR[1]}",
        )


def _timed(n_rows: int, n_sources: int) -> FitCost:
    images = make_images(n_rows, 0)
    began = time.process_time()
    model = fit_sources(PAPER, images.table, n_sources, 0, n_jobs=1)
    return FitCost(time.process_time() - began, model.n_iter_)
