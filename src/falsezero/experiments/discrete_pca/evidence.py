"""Discrete PCA slides: a good number of components by the evidence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.data.tidy import Tidy
from falsezero.datasets import load_newsgroups20, load_reuters395
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca.algorithms import ALPHA, ETA
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.evidence import compare_components
from falsezero.plot import CurvesDisplay

BOUNDS = {"annealed": "annealing, a lower bound", "reverse": "annealing back, an upper bound"}


class Bracket(NamedTuple):
    """Between which values the log evidence of each order lies."""

    orders: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def possible(self) -> list[int]:
        """Orders that may be best: what they have at most exceeds what any other has at least.

        >>> Bracket(np.array([4, 8, 16]), np.array([-9, -5, -8]), np.array([-6, -3, -4])).possible()
        [8, 16]
        """
        return [int(k) for k in self.orders[self.high >= self.low.max()]]


def evidence(report: Report) -> None:
    """The evidence over K by the slides' estimator, and its bounds by annealing."""
    report.section(
        "Estimating a good number of components",
        "The slides use the harmonic mean of p(w | v) over Gibbs draws. Annealed importance "
        "sampling estimates the same number. From the prior to the posterior it errs on the low "
        "side, back from the posterior to the prior on the high side; the evidence lies between.",
    )
    values = sparse.csr_array(load_reuters395().table.values)[:: 8 if report.quick else 1]
    values = sparse.csr_array(values[:, np.asarray(values.sum(axis=0)) > 1])
    steps = 150 if report.quick else 200
    orders = (4, 8, 16, 32, 64)
    tables = _estimates(values, orders, [*BOUNDS, "harmonic"], steps)
    bracket = _show(report, tables, "Reuters", "Estimating K")
    harmonic = tables["harmonic"]["log_evidence"]
    _judge_order(
        report,
        "Estimating K",
        "the evidence has its optimum at a moderate K",
        bracket,
        orders[1:-1],
    )
    above = harmonic - bracket.high
    report.claim(
        "Estimating K",
        "the harmonic mean estimates the evidence (optimal importance sampling)",
        f"it lies {above.min():.0f} to {above.max():.0f} nats above the upper bound",
        bool(((harmonic >= bracket.low) & (harmonic <= bracket.high)).all()),
        ours="within the bounds",
    )


def newsgroups_order(report: Report) -> None:
    """K by the evidence on the 20 newsgroups, a sample of messages and the commoner words."""
    report.section("Estimating K: 20 newsgroups")
    values = sparse.csr_array(load_newsgroups20().table.values)[::20]
    values = sparse.csr_array(values[:, np.asarray((values > 0).sum(axis=0)) > 4])
    tables = _estimates(values, (20, 50, 100, 200), list(BOUNDS), 100)
    item = "Estimating K, newsgroups"
    bracket = _show(report, tables, "20 newsgroups", item)
    claim = (
        "K = 200 +- 20 is the optimum for 20000 messages with 30000 words (here "
        f"{values.shape[0]} messages with {values.shape[1]} words)"
    )
    _judge_order(report, item, claim, bracket, (200,))


def _estimates(values: Any, orders: tuple[int, ...], methods: list[str], n: int) -> dict[str, Tidy]:
    """One long chain a method and order: chains differ far less than the bounds do."""
    model = DiscretePCA(alpha=ALPHA, eta=ETA)
    return {
        name: compare_components(model, values, orders, name, n_steps=n, n_chains=1)
        for name in methods
    }


def _show(report: Report, tables: dict[str, Tidy], name: str, item: str) -> Bracket:
    """A figure and a table of the estimates; returns the bounds."""
    orders = tables["annealed"]["n_components"]
    found = {BOUNDS.get(n, "harmonic mean"): t["log_evidence"] for n, t in tables.items()}
    curves = {label: (orders, value) for label, value in found.items()}
    display = CurvesDisplay(curves, "K", "log evidence").plot(log_x=True)
    display.ax_.set_xticks(orders)
    report.figure(display, f"Estimating K: log evidence over K, {name}.", item)
    rounded = {label: np.round(value).astype(int).tolist() for label, value in found.items()}
    report.table(Tidy({"K": orders.tolist(), **rounded}), "Estimates of the log evidence, in nats.")
    return Bracket(orders, *(tables[n]["log_evidence"] for n in BOUNDS))


def _judge_order(
    report: Report, item: str, claim: str, bracket: Bracket, wanted: tuple[int, ...]
) -> None:
    """Decided only where no other order, or none of the wanted ones, may be best."""
    possible = bracket.possible()
    is_decided = set(possible) <= set(wanted) or not set(possible) & set(wanted)
    gap = bracket.high - bracket.low
    found = (
        f"the bounds, {gap.min():.0f} to {gap.max():.0f} nats apart, leave K = "
        f"{', '.join(map(str, possible))} possible"
    )
    if not is_decided:
        found += "; only longer chains could tell them apart"
    report.claim(item, claim, found, set(possible) <= set(wanted) if is_decided else None)
