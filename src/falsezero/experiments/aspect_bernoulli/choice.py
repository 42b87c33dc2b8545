"""Aspect Bernoulli paper, section 3.2: which model predicts, and how many aspects (Figs. 2, 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ranksums

from falsezero.analysis.selection import select
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.experiments._methods import fitted, method
from falsezero.experiments._report import Report
from falsezero.plot import CurvesDisplay

ORDERS = {
    "fossils": {True: (2, 4, 8, 12), False: (2, 4, 8, 12, 20, 30)},
    "digits": {True: (5, 10, 20), False: (5, 10, 15, 20, 30, 50)},
    "newsgroups": {True: (2, 4, 9), False: (2, 4, 5, 9, 15)},
}
PAPER_P = {"Figure 2 (a)": 0.52, "Figure 2 (b)": 0.62, "Figure 2 (c)": 0.97}
OVERFIT = 0.01
"""How far the likelihood has to fall below its best, as a share of it, to call it over-fitting."""


def out_of_sample(report: Report, name: str, table: Table, where: str) -> None:
    """Cross-validated empirical Bayes likelihood of AB, MB and LPCA against the model order."""
    quick = report.quick
    report.section(f"{where}: out of sample likelihood, {name}")
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
    caption = f"Mean log likelihood of left-out rows, one standard error, {name}."
    report.figure(display, caption, where)
    _judge(report, where, name, choices)


def _judge(report: Report, where: str, name: str, choices: dict[str, Any]) -> None:
    best = {label: int(np.argmax(c.scores.mean(axis=1))) for label, c in choices.items()}
    folds = {label: c.scores[best[label]] for label, c in choices.items()}
    mean = {label: float(scores.mean()) for label, scores in folds.items()}
    orders = {label: int(c.table["n_components"][best[label]]) for label, c in choices.items()}
    said = ", ".join(f"{label} {mean[label]:.2f} at K = {orders[label]}" for label in folds)
    report.claim(where, f"AB predicts {name} better than MB", said, mean["AB"] > mean["MB"])
    p = float(ranksums(folds["AB"], folds["LPCA"]).pvalue)
    paper = f" (paper: P = {PAPER_P[where]})" if where in PAPER_P else ""
    report.claim(
        where,
        f"the best AB and the best LPCA do not differ at 5 % on {name}{paper}",
        f"P = {p:.2f}",
        p > 0.05,
    )
    for label, claim in (
        ("LPCA", f"LPCA overfits {name} beyond a few components"),
        ("AB", f"AB does not overfit {name} over a wide range of orders"),
    ):
        scores = choices[label].scores.mean(axis=1)
        falls = bool(scores[-1] < scores.max() - OVERFIT * abs(scores.max()))
        report.claim(
            where,
            claim,
            f"{scores.max():.2f} at best, {scores[-1]:.2f} with the most components",
            falls if label == "LPCA" else not falls,
            ours=f"a fall by {OVERFIT:.0%}",
        )


def intermediate(report: Report, table: Table) -> None:
    """Section 4: non-negative factors through a shifted sigmoid, and LPCA without biases."""
    report.section(
        "Section 4: a model between logistic PCA and AB",
        "The intermediate model is BernoulliNMF: g(u) = (exp(u) - 1) / (exp(u) + 1) of "
        "non-negative factors. LPCA stands here as eq. 24 has it, without biases, and with them.",
    )
    orders = (2, 4) if report.quick else (2, 4, 8, 12)
    options = {"n_splits": 5 if report.quick else 10, "random_state": 0, "n_jobs": 2}
    models = {
        "AB": method("AB", 2, rough=True),
        "intermediate": method("BNMF", 2, rough=True),
        "LPCA, no bias": method("LPCA", 2, rough=True, bias=False),
        "LPCA": method("LPCA", 2, rough=True),
    }
    curves = {}
    for label, model in models.items():
        found = select(model, table, orders, "rows", n_init=1, **options).table
        curves[label] = (orders, found["rows"], found["standard_error"])
    display = CurvesDisplay(curves, "number of components", "log likelihood of a new row").plot()
    report.figure(display, "Left-out fossil sites; one standard error.", "Section 4")
    at = {label: float(curve[1][0]) for label, curve in curves.items()}
    ends = sorted((at["AB"], at["LPCA"]))
    report.claim(
        "Section 4",
        "the intermediate model lies between LPCA and AB",
        "at K = 2: " + ", ".join(f"{label} {value:.1f}" for label, value in at.items()),
        ends[0] <= at["intermediate"] <= ends[1],
    )


def akaike(report: Report, where: str, name: str, table: Table, orders: Any, paper: int) -> int:
    """Figure 3: log likelihood and AIC of every start; returns the order chosen."""
    report.section(f"{where}: AIC, {name}")
    n_init = 6 if report.quick else 15
    rows = []
    for k in orders:
        fits = (fitted("AB", table, k, seed=seed) for seed in range(n_init))
        rows += [{"k": k, "aic": m.aic(), "log likelihood": m.log_likelihood_} for m in fits]
    found = Tidy.from_rows(rows)
    best = found.take(np.array([_is_best(found, i) for i in range(len(found))]))
    curves = {
        "log likelihood": (found["k"], found["log likelihood"]),
        "penalised, -AIC / 2": (found["k"], -found["aic"] / 2),
        "best start, -AIC / 2": (best["k"], -best["aic"] / 2),
    }
    display = CurvesDisplay(curves, "number of components", "nats")
    display.plot(dots=list(curves)[:2])
    report.figure(display, f"Every one of {n_init} uniform starts, {name}.", where)
    report.table(best, "The best start of each order; smaller AIC is better.")
    chosen = int(best["k"][np.argmin(best["aic"])])
    said = f"AIC chooses K = {chosen}"
    report.claim(where, f"AIC chooses K = {paper} for {name}", said, chosen == paper)
    return chosen


def _is_best(found: Tidy, i: int) -> bool:
    """Whether a start has the highest likelihood of its order, and is the first that has."""
    same = np.flatnonzero(found["k"] == found["k"][i])
    return int(same[np.argmax(found["log likelihood"][same])]) == i
