"""Discrete PCA slides: a good number of components by the evidence."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from falsezero.datasets import load_newsgroups20, load_reuters395
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca.algorithms import ALPHA, ETA
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.evidence import compare_components
from falsezero.plot import CurvesDisplay


def evidence(report: Report) -> None:
    """The evidence over K by the slides' estimator and by annealed importance sampling."""
    report.section(
        "Estimating a good number of components",
        "The slides use the harmonic mean of p(w | v) over Gibbs draws. Annealed importance "
        "sampling estimates the same number without its bias.",
    )
    values = sparse.csr_array(load_reuters395().table.values)[:: 8 if report.quick else 1]
    values = sparse.csr_array(values[:, np.asarray(values.sum(axis=0)) > 1])
    orders = (4, 8, 16, 32, 64)
    model = DiscretePCA(alpha=ALPHA, eta=ETA)
    steps, chains = (150, 2) if report.quick else (300, 3)
    tables = {
        name: compare_components(model, values, orders, name, n_steps=steps, n_chains=chains)
        for name in ("annealed", "harmonic")
    }
    curves = {n: (t["n_components"], t["log_evidence"], t["error"]) for n, t in tables.items()}
    display = CurvesDisplay(curves, "K", "log evidence").plot()
    report.figure(display, "Estimating K: log evidence over K, Reuters.", "Estimating K")
    for name, table in tables.items():
        report.table(table, f"Estimates by {name} sampling.")
    best = {n: int(t["n_components"][np.argmax(t["log_evidence"])]) for n, t in tables.items()}
    gap = tables["harmonic"]["log_evidence"] - tables["annealed"]["log_evidence"]
    report.claim(
        "Estimating K",
        "the evidence has its optimum at a moderate K",
        f"annealed: K = {best['annealed']}, harmonic: K = {best['harmonic']}",
        best["annealed"] not in (orders[0], orders[-1]),
    )
    report.claim(
        "Estimating K",
        "the harmonic estimate is optimal importance sampling",
        f"it is {gap.min():.0f} to {gap.max():.0f} nats above the annealed estimate",
        bool(np.abs(gap).max() < 10),
        ours="10 nats",
    )


def newsgroups_order(report: Report) -> None:
    """K by the evidence on the 20 newsgroups, a sample of messages and the commoner words."""
    report.section("Estimating K: 20 newsgroups")
    values = sparse.csr_array(load_newsgroups20().table.values)[::20]
    values = sparse.csr_array(values[:, np.asarray((values > 0).sum(axis=0)) > 4])
    orders = (20, 50, 100, 200, 300)
    model = DiscretePCA(alpha=ALPHA, eta=ETA)
    table = compare_components(model, values, orders, "annealed", n_steps=200, n_chains=2)
    curve = (table["n_components"], table["log_evidence"], table["error"])
    display = CurvesDisplay({"annealed": curve}, "K", "log evidence").plot()
    report.figure(
        display, "Estimating K: log evidence over K, 20 newsgroups.", "Estimating K, newsgroups"
    )
    best = int(table["n_components"][np.argmax(table["log_evidence"])])
    report.claim(
        "Estimating K, newsgroups",
        "K = 200 +- 20 is the optimum for 20000 messages with 30000 words",
        f"K = {best} for {values.shape[0]} messages with {values.shape[1]} words",
        180 <= best <= 220,
    )
