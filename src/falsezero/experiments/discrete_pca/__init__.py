"""The Discrete PCA slides: their comparisons beside ours.

W. Buntine, "Discrete Principal Components Analysis", slides, Bohinj (2005). The slides' RCV1 corpus
is not free; 20 Newsgroups and film reviews stand for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy import sparse

from falsezero.datasets import load_imdb_reviews, load_newsgroups20
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca import evidence, reading, uses
from falsezero.experiments.discrete_pca.algorithms import algorithms, ordering
from falsezero.experiments.discrete_pca.items import ITEMS

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the slides on the data that can be had; returns the path of the report."""
    report = Report("Discrete PCA, repeated", __doc__.split("\n\n")[1], quick, ITEMS)
    every = {"newsgroups": 40 if quick else 2, "film reviews": 100 if quick else 5}
    loaders: dict[str, Callable[[], Any]] = {
        "newsgroups": load_newsgroups20,
        "film reviews": load_imdb_reviews,
    }
    reading.gammas(report)
    curves = {}
    for name, load in loaders.items():
        values = sparse.csr_array(load().table.values)[:: every[name]]
        for k in (20, 100) if quick else (20, 100, 500):
            curves[f"{name}, K = {k}"] = algorithms(report, name, values, k)
    ordering(report, curves)
    evidence.evidence(report)
    if not quick:
        evidence.newsgroups_order(report)
    reading.groups(report)
    reading.pages(report)
    uses.applications(report)
    return report.write(Path(out_dir))
