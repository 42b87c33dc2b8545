"""Aspect Bernoulli paper, section 3.2: which model predicts, and how many aspects (Figs. 2, 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ranksums

from falsezero.analysis.selection import select
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.experiments._methods import method
from falsezero.experiments._report import Report
from falsezero.plot import CurvesDisplay, ModelChoiceDisplay

ORDERS = {
    "fossils": {True: (2, 4, 8, 12), False: (2, 4, 8, 12, 20, 30)},
    "digits": {True: (5, 10, 20), False: (5, 10, 15, 20, 30, 50)},
    "newsgroups": {True: (2, 4, 9), False: (2, 4, 5, 9, 15)},
}
PAPER_P = {"fossils": 0.52, "digits": 0.62, "newsgroups": 0.97}


def out_of_sample(report: Report, name: str, table: Table, title: str = "Figure 2") -> None:
    """Cross-validated empirical Bayes likelihood of AB, MB and LPCA against the model order."""
    quick = report.quick
    report.section(f"{title}: out of sample likelihood, {name}")
    orders = ORDERS[name][quick]
    choices = {}
    for label in ("AB", "MB", "LPCA"):
        wanted = [k for k in orders if label != "LPCA" or k <= 20]
        options = {"n_splits": 5 if quick else 10, "random_state": 0, "n_jobs": 2}
        model = method(label, 2, rough=True)
        choices[label] = select(model, table, wanted, "rows", n_init=1, **options)
    curves = {
        label: (c.table["n_components"], c.table["rows"], c.table["standard_error"])
        for label, c in choices.items()
    }
    display = CurvesDisplay(curves, "number of components", "log likelihood of a new row").plot()
    report.figure(display, f"Mean log likelihood of left-out rows, one standard error, {name}.")
    _judge(report, title, name, choices)


def _judge(report: Report, where: str, name: str, choices: dict[str, Any]) -> None:
    best = {label: int(np.argmax(c.scores.mean(axis=1))) for label, c in choices.items()}
    folds = {label: c.scores[best[label]] for label, c in choices.items()}
    mean = {label: float(scores.mean()) for label, scores in folds.items()}
    orders = {label: int(c.table["n_components"][best[label]]) for label, c in choices.items()}
    said = ", ".join(f"{label} {mean[label]:.2f} at K = {orders[label]}" for label in folds)
    report.claim(where, f"AB predicts {name} better than MB", said, mean["AB"] > mean["MB"])
    p = float(ranksums(folds["AB"], folds["LPCA"]).pvalue)
    paper = PAPER_P.get(name)
    report.claim(
        where,
        f"the best AB and the best LPCA do not differ at 5 % on {name} (paper: P = {paper})",
        f"P = {p:.2f}",
        p > 0.05,
    )
    lpca = choices["LPCA"].scores.mean(axis=1)
    report.claim(
        where,
        f"LPCA overfits {name} badly beyond a few components",
        f"{lpca.max():.2f} at best, {lpca[-1]:.2f} with the most components",
        bool(lpca[-1] < lpca.max() - 0.01 * abs(lpca.max())),
    )


def akaike(report: Report, name: str, table: Table, orders: Any, expected: int) -> int:
    """Figure 3: AIC over model orders; returns the order chosen."""
    report.section(f"Figure 3: AIC, {name}")
    n_init = 6 if report.quick else 15
    model = method("AB", 2)
    choice = select(model, table, orders, "aic", n_init=n_init, random_state=0, n_jobs=2)
    report.figure(
        ModelChoiceDisplay.from_selection(choice), f"AIC, best of {n_init} starts, {name}."
    )
    report.table(_brief(choice.table), "Smaller AIC is better.")
    report.claim(
        "Figure 3",
        f"AIC chooses K = {expected} for {name}",
        f"AIC chooses K = {choice.best}",
        choice.best == expected,
    )
    return choice.best


def _brief(table: Tidy) -> Tidy:
    return Tidy({n: table[n] for n in ("n_components", "aic", "log_likelihood", "seconds")})
