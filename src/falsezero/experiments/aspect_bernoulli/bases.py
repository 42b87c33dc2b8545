"""Aspect Bernoulli paper, section 3.4.2: bases of the other methods (Figs. 12, 14), AIC."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.corrupt import corrupt
from falsezero.data.table import Table
from falsezero.datasets import Dataset
from falsezero.experiments._methods import AS_IN_THE_PAPER, fitted
from falsezero.experiments._report import Report
from falsezero.experiments._strips import as_probabilities, strip
from falsezero.experiments.aspect_bernoulli.choice import akaike

BLANK = 0.1
METHODS = ("MB", "LPCA", "PLSA", "NMF")
SHADES = {
    "LPCA": ", grey is zero",
    "PLSA": ", each to its own scale",
    "NMF": ", each to its own scale",
}


def rivals(report: Report, data: Dataset) -> None:
    """Figures 12 and 14: 14 bases of four methods on digits with lost and with added pixels."""
    clean, shape = data.table, data.image_shape or (1, data.table.shape[1])
    if report.quick:
        clean = clean.select(rows=np.arange(clean.shape[0]) % 4 == 0)
    cases = {
        "Figure 12": corrupt(clean, omit=0.4, random_state=0),
        "Figure 14": corrupt(clean, add=0.4, random_state=0),
    }
    for where, table in cases.items():
        report.section(f"{where}: bases of MB, LPCA, PLSA and NMF")
        models = {
            name: fitted(name, table, 14, rough=True, **AS_IN_THE_PAPER.get(name, {}))
            for name in METHODS
        }
        for name, model in models.items():
            images = as_probabilities(model.components_, name)
            caption = f"{where}: bases of {name}" + SHADES.get(name, "") + "."
            strip(report, images, shape, caption, where)
        _judge(report, where, models["MB"], table)


def _judge(report: Report, where: str, mixture: Any, table: Table) -> None:
    """Only the bases of the mixture are probabilities that could be nearly all 0, or all 1."""
    mean = mixture.components_.mean(axis=1)
    if where == "Figure 12":
        found, blank = f"emptiest basis {mean.min():.2f}", mean.min() < BLANK * table.density
    else:
        found, blank = f"fullest basis {mean.max():.2f}", mean.max() > 1 - BLANK
    report.claim(
        where,
        "no single basis corresponds to the corruption",
        f"MB: {found} of the pixels, the images {table.density:.2f}; the bases of LPCA, PLSA and "
        "NMF are no probabilities and are only drawn",
        not blank,
        ours=f"{BLANK:.0%} of the images' share of ones, or above {1 - BLANK:.0%}",
    )


def corrupted_orders(report: Report, data: Dataset) -> None:
    """Section 3.4.2: the orders that AIC chooses for both kinds of corruption."""
    for paper, name, table in (
        (14, "corroded digits", corrupt(data.table, omit=0.4, random_state=0)),
        (15, "digits with added ones", corrupt(data.table, add=0.4, random_state=0)),
    ):
        akaike(report, "Section 3.4.2, AIC", name, table, range(10, 19), paper, 4)
