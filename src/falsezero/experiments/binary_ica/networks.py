"""Binary ICA paper, section 5.2: networks (Figs. 18-20)."""

from __future__ import annotations

import numpy as np

from falsezero.analysis.metrics import clustering_agreement
from falsezero.datasets import Dataset
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.plot import MatricesDisplay, TernaryDisplay

WHITE = 0.1
WAVERERS = ("Victor", "Romauld", "Amand")
"""The three monks between the groups (White, Boorman and Breiger, 1976), spelt as in the data."""


def monks(report: Report, data: Dataset) -> None:
    """Figure 18: three groups of monks, and waverers between two of them."""
    report.section("Figure 18: Sampson's monks")
    model = fitted("bBICA", data.table, 3, n_init=20 if report.quick else 50, tol=1e-7)
    groups = np.where(
        np.isin(data.table.rows, WAVERERS), "waverer", np.asarray(data.target).astype(str)
    )
    report.figure(
        TernaryDisplay.from_estimator(model, data.table, groups),
        "Figure 18: posterior means of the mixing weights of each monk.",
        "Figure 18",
    )
    waverer = groups == "waverer"
    strongest = model.row_weights_.argmax(axis=1)
    agreement = clustering_agreement(groups[~waverer], strongest[~waverer])
    report.claim(
        "Figure 18",
        "the three groups are well separated",
        f"{agreement:.0%} of the monks who do not waver are in the component of their group",
        agreement >= 0.8,
        ours="80 %",
    )
    entropy = -(model.row_weights_ * np.log(model.row_weights_ + 1e-12)).sum(axis=1)
    mixed, others = float(entropy[waverer].mean()), float(entropy[~waverer].mean())
    report.claim(
        "Figure 18",
        "waverers stand between groups, as two of the paper's three do",
        f"mean entropy of their weights {mixed:.2f}, of the others' {others:.2f}",
        mixed > others,
    )


def blogs(report: Report, data: Dataset) -> None:
    """Figures 19 and 20 on political blogs, in place of the paper's chat."""
    report.section("Figures 19 and 20: a network of political blogs")
    table = data.table
    k = 15
    model = fitted("bBICA", table, k, n_init=1 if report.quick else 5, rough=report.quick)
    # The paper's order: components by their presences, nodes by their strongest component.
    fullest = np.argsort(-model.components_.sum(axis=1), kind="stable")
    weights, sources = model.row_weights_[:, fullest], model.components_[fullest]
    strongest = weights.argmax(axis=1)
    nodes = np.lexsort((-weights.max(axis=1), strongest))
    values = table.to_numpy()
    # Pixels of a picture are larger than cells: blocks of 5 x 5 are averaged to be seen.
    display = MatricesDisplay(
        {"as given": _coarse(values), "reordered": _coarse(values[np.ix_(nodes, nodes)])},
        "blog linked to / 5",
        "blog / 5",
        limits=(0.0, 0.2),
    )
    report.figure(display.plot(), "Figure 19: who links to whom.", "Figure 19")
    parts = {"weights": weights[nodes].T, "components": sources[:, nodes]}
    display = MatricesDisplay(parts, "blog", "component", limits=(0.0, 1.0))
    report.figure(
        display.plot(), "Figure 20: posterior means of weights and components.", "Figure 20"
    )
    leaning = np.asarray(data.target)
    linked = values.sum(axis=1) > 0
    agreement = clustering_agreement(leaning[linked], strongest[linked], "majority")
    report.claim(
        "Figure 19",
        "reordering reveals groups (here: the two political leanings)",
        f"{agreement:.0%} of the blogs that link share the leaning of most of their component",
        agreement > 0.85,
        ours="85 %",
    )
    white = sources.max(axis=1) < WHITE
    share = float(white[strongest].mean())
    report.claim(
        "Figure 20",
        "several components are white, and dominate some of the nodes",
        f"{white.sum()} of {k}, dominant in {share:.0%} of the blogs",
        bool(white.sum() > 1 and share > 0),
        ours=f"white makes no link with a probability of {WHITE} or more",
    )


def _coarse(values: np.ndarray, step: int = 5) -> np.ndarray:
    n = len(values) // step * step
    return values[:n, :n].reshape(n // step, step, n // step, step).mean(axis=(1, 3))
