"""Aspect Bernoulli paper, section 3.2: which model predicts, and how many aspects (Figs. 2, 3)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import parallel_config
from scipy.stats import ranksums
from sklearn.exceptions import ConvergenceWarning

from falsezero.analysis.selection import select
from falsezero.data.blocks import Blocks
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.experiments._methods import AS_IN_THE_PAPER, method
from falsezero.experiments._report import Report
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli, ExactSteps
from falsezero.models.convex.family import Components
from falsezero.plot import CurvesDisplay

ORDERS = {
    "fossils": {True: (2, 4, 8, 12), False: (2, 4, 8, 12, 20, 30)},
    "digits": {True: (5, 10, 20), False: (5, 10, 20, 50)},
    "newsgroups": {True: (2, 4, 9), False: (2, 4, 5, 9, 15)},
}
PAPER_P = {"Figure 2 (a)": 0.52, "Figure 2 (b)": 0.62, "Figure 2 (c)": 0.97}
LPCA = "LPCA"
OVERFIT = 0.01
"""How far the likelihood has to fall below its best, as a share of it, to call it over-fitting."""


def cross_validated(model: Any, table: Table, orders: Any, *, quick: bool) -> Any:
    """Likelihood of left-out rows over some orders, in five folds or the paper's ten.

    Folds run in two threads, not processes, so that their time is counted with the report's.
    """
    with parallel_config(backend="threading"), warnings.catch_warnings():
        # The best order may be the last one tried; the curves show it.
        warnings.simplefilter("ignore", UserWarning)
        return select(
            model, table, orders, "rows", n_init=1, n_splits=5 if quick else 10, random_state=0,
            n_jobs=2,
        )  # fmt: skip


def _models() -> dict[str, Any]:
    """The paper's LPCA has no biases (eq. 24); the one with biases stands beside it.

    Its iterations end at 200: where it overfits the likelihood of new rows only gets worse.
    """
    few: dict[str, Any] = {"rough": True, "max_iter": 200}
    return {
        "AB": method("AB", 2, rough=True),
        "MB": method("MB", 2, rough=True),
        LPCA: method("LPCA", 2, **few, **AS_IN_THE_PAPER["LPCA"]),
        f"{LPCA} with biases": method("LPCA", 2, **few),
    }


def out_of_sample(report: Report, name: str, table: Table, where: str) -> None:
    """Cross-validated empirical Bayes likelihood of AB, MB and LPCA against the model order."""
    report.section(f"{where}: out of sample likelihood, {name}")
    orders = ORDERS[name][report.quick]
    choices = {
        label: cross_validated(
            model,
            table,
            [k for k in orders if k <= 20 or not label.startswith(LPCA)],
            quick=report.quick,
        )
        for label, model in _models().items()
        if name != "digits" or "biases" not in label
    }
    curves = {
        label: (c.table["n_components"], c.table["rows"], c.table["standard_error"])
        for label, c in choices.items()
    }
    display = CurvesDisplay(curves, "number of components", "log likelihood of a new row").plot()
    caption = f"{where}: mean log likelihood of left-out rows, one standard error, {name}."
    report.figure(display, caption, where)
    _judge(report, where, name, choices)


def _judge(report: Report, where: str, name: str, choices: dict[str, Any]) -> None:
    best = {label: int(np.argmax(c.scores.mean(axis=1))) for label, c in choices.items()}
    folds = {label: c.scores[best[label]] for label, c in choices.items()}
    orders = {label: int(c.table["n_components"][best[label]]) for label, c in choices.items()}
    finding = ", ".join(f"{n} {folds[n].mean():.2f} at K = {orders[n]}" for n in folds)
    above = choices["AB"].scores.mean(axis=1) > choices["MB"].scores.mean(axis=1)
    report.claim(
        where,
        f"AB always predicts {name} better than MB",
        f"at {above.sum()} of {len(above)} orders; at best {finding}",
        bool(above.all()),
    )
    if where in PAPER_P:
        p = float(ranksums(folds["AB"], folds[LPCA]).pvalue)
        claim = f"the best AB and the best LPCA do not differ at 5 % on {name}"
        report.claim(where, f"{claim} (paper: P = {PAPER_P[where]})", f"P = {p:.2f}", p > 0.05)
    for label, claim in (
        (LPCA, f"LPCA overfits {name} beyond a few components"),
        ("AB", f"AB does not overfit {name} over a wide range of orders"),
    ):
        scores = choices[label].scores.mean(axis=1)
        falls = bool(scores[-1] < scores.max() - OVERFIT * abs(scores.max()))
        report.claim(
            where,
            claim,
            f"{scores.max():.2f} at best, {scores[-1]:.2f} with the most components",
            falls if label == LPCA else not falls,
            ours=f"a fall by {OVERFIT:.0%}",
        )


def intermediate(report: Report, table: Table) -> None:
    """Section 4: non-negative factors through a shifted sigmoid, between LPCA and AB."""
    report.section(
        "Section 4: a model between logistic PCA and AB",
        "The intermediate model is BernoulliNMF: g(u) = (exp(u) - 1) / (exp(u) + 1) of "
        "non-negative factors. LPCA is shown without biases, as in eq. 24, and with them.",
    )
    orders = (2, 4) if report.quick else (2, 4, 8)
    models = {**_models(), "intermediate": method("BNMF", 2, rough=True)}
    del models["MB"]
    curves = {}
    for label, model in models.items():
        found = cross_validated(model, table, orders, quick=report.quick).table
        curves[label] = (orders, found["rows"], found["standard_error"])
    display = CurvesDisplay(curves, "number of components", "log likelihood of a new row").plot()
    report.figure(
        display,
        "Section 4: log likelihood of left-out fossil sites; one standard error.",
        "Section 4",
    )
    finding, inside = [], []
    for i, k in enumerate(orders):
        middle, ends = curves["intermediate"][1][i], [curves[n][1][i] for n in ("AB", LPCA)]
        inside.append(min(ends) <= middle <= max(ends))
        values = ", ".join(f"{n} {curve[1][i]:.1f}" for n, curve in curves.items())
        finding.append(f"K = {k}: {values}")
    report.claim(
        "Section 4",
        "the intermediate model has consistently been between LPCA and AB",
        f"at {sum(inside)} of {len(orders)} orders; " + "; ".join(finding),
        all(inside),
    )


class _UniformSteps(ExactSteps):
    """EM from the paper's start."""

    def init_state(self, blocks: Blocks, rng: np.random.Generator) -> Components:
        """Uniform probabilities."""
        start = rng.random((self.n_components, blocks.shape[1]))
        return self.clip(start.astype(blocks.dtype))


class _FromUniform(AspectBernoulli):
    """Aspect Bernoulli from uniform starts, where the library starts near rows of the table."""

    def _steps(self, blocks: Blocks) -> Any:
        return _UniformSteps(self.n_components, blocks)


def akaike(
    report: Report, where: str, name: str, table: Table, orders: Any, paper: int, n_init: int = 15
) -> int:
    """Figure 3: log likelihood and AIC of every uniform start; returns the order chosen."""
    report.section(f"{where}: AIC, {name}")
    n_init = 6 if report.quick else n_init
    rows = []
    for k in orders:
        fits = (_from_uniform(table, k, seed) for seed in range(n_init))
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
    report.figure(display, f"{where}: all {n_init} uniform starts, {name}.", where)
    report.table(best, "The best start of each order; smaller AIC is better.")
    chosen = int(best["k"][np.argmin(best["aic"])])
    finding = f"AIC chooses K = {chosen}"
    report.claim(where, f"AIC chooses K = {paper} for {name}", finding, chosen == paper)
    return chosen


def _from_uniform(table: Table, k: int, seed: int) -> AspectBernoulli:
    model = _FromUniform(k, solver="exact", prior=0, tol=1e-6, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(table)


def _is_best(found: Tidy, i: int) -> bool:
    """Whether a start has the highest likelihood of its order, and is the first that has."""
    same = np.flatnonzero(found["k"] == found["k"][i])
    return int(same[np.argmax(found["log likelihood"][same])]) == i
