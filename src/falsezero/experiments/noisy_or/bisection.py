"""Noisy-or paper, section 3.2: the M-step of one link by bisection (Fig. 3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from falsezero.experiments._report import Report
from falsezero.experiments.noisy_or.algorithms import PAPER, fit_sources
from falsezero.experiments.noisy_or.images import N_PATTERNS, make_images
from falsezero.plot import CurvesDisplay

UPPER, WIDTH = 8.0, 0.01


def bisect(f: Callable[[float], float], low: float, high: float, width: float) -> list[float]:
    """Every midpoint on the way to the root of a falling function.

    >>> [round(x, 3) for x in bisect(lambda x: 1 - x, 0.0, 4.0, 1.0)]
    [2.0, 1.0, 0.5]
    """
    tried = []
    while high - low >= width:
        middle = (low + high) / 2
        tried.append(middle)
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return tried


def m_step(report: Report) -> None:
    """Figure 3: the derivative for one link, and where bisection looks."""
    report.section(
        "Figure 3: the M-step by bisection",
        "The library's M-step has the same root in closed form. Here the paper's formula (Figure "
        "2) is searched for one link of a model of 500 images, every q being 1/8.",
    )
    images = make_images(500, 0)
    model = fit_sources(PAPER, images.table, N_PATTERNS, 0)
    i, j = np.unravel_index(int(np.argmax(model.loadings_ < 0.95)), model.loadings_.shape)
    posterior = model.transform(images.table)[:, i]
    x, leak = images.table.to_numpy()[:, j], -np.log1p(-model.leak_[j])

    def derivative(theta: float) -> float:
        a = np.exp(-leak - theta * N_PATTERNS)
        return float((posterior * (x / (1 - a) - 1)).sum())

    tried = bisect(derivative, 1e-6, UPPER, WIDTH)
    at = np.linspace(tried[-1] / 3, max(3 * tried[-1], 0.5), 50)
    shown = [t for t in tried if at[0] <= t <= at[-1]]
    curves = {
        "derivative": (at, [derivative(t) for t in at]),
        "bisection": (shown, [derivative(t) for t in shown]),
    }
    display = CurvesDisplay(curves, "theta of one link", "derivative of F").plot(dots=["bisection"])
    display.ax_.lines[0].set_marker("")
    report.figure(display, "Figure 3: the search for one parameter.", "Figure 3")
    report.claim(
        "Figure 3",
        "the search typically converges in about ten iterations",
        f"{len(tried)} from an interval of {UPPER:g} to one of {WIDTH:g}; the paper does not give "
        "its precision, on which the number depends",
        None,
    )
