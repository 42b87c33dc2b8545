"""Binary ICA paper, sections 1.1, 2 and 4.1: priors, the bound and a toy (Figs. 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln
from scipy.stats import beta

from falsezero.analysis.evidence import log_evidence
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import make_aspect_bernoulli
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.plot import CurvesDisplay

TRUE_K = 3
INNER, INNER_TOL = 10, 1e-3
"""The paper's inner loops: at most ten steps each, less where the bound gains under 0.001."""


def densities(report: Report) -> None:
    """Figure 1: the Beta density with various parameters."""
    report.section("Figure 1: Beta densities")
    at = np.linspace(0.02, 0.98, 49)
    shapes = ((0.5, 0.5), (1, 1), (2, 2), (1, 3), (5, 1), (2, 8))
    curves = {f"Beta({a:g}, {b:g})": (at, beta.pdf(at, a, b)) for a, b in shapes}
    display = CurvesDisplay(curves, "b", "density").plot()
    for line in display.ax_.lines:
        line.set_marker("")
    report.figure(
        display,
        "Figure 1: Beta densities; the prior of the experiments is Beta(0.5, 0.5).",
        "Figure 1",
    )


def make_toy(concentration: float) -> Table:
    """150 x 30 cells drawn from the model with three components."""
    shape: dict[str, Any] = {"shape": (0.5, 0.5), "random_state": 1}
    return make_aspect_bernoulli(150, 30, TRUE_K, concentration=concentration, **shape).table


class ToyPosterior(NamedTuple):
    """Beta posteriors of the sources and Dirichlet posteriors of the weights."""

    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray


def alternate(x: np.ndarray, k: int, n: int, seed: int) -> Iterator[tuple[str, float]]:
    """The paper's algorithm: n rounds of an E loop (10)-(11) and an M loop (appendix B.2).

    Yields the kind of each step and the bound (B.1) after it.

    >>> bounds = [bound for _, bound in alternate(np.eye(4), 2, 3, 0)]
    >>> bool((np.diff(bounds) > -1e-9).all())
    True
    """
    rng = np.random.default_rng(seed)
    shape = (k, x.shape[1])
    q = ToyPosterior(1 + rng.random(shape), 1 + rng.random(shape), 1 + rng.random((len(x), k)))
    bound = _bound(x, q)
    for _ in range(n):
        for kind in "EM":
            for _ in range(INNER):
                q = _renewed(x, q, kind)
                before, bound = bound, _bound(x, q)
                yield kind, bound
                if bound - before < INNER_TOL:
                    break


def _factors(q: ToyPosterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp<log a>, exp<log b> and exp<log(1 - b)>."""
    total = digamma(q.alpha + q.beta)
    weights = np.exp(digamma(q.gamma) - digamma(q.gamma.sum(axis=1, keepdims=True)))
    return weights, np.exp(digamma(q.alpha) - total), np.exp(digamma(q.beta) - total)


def _renewed(x: np.ndarray, q: ToyPosterior, kind: str) -> ToyPosterior:
    a, one, zero = _factors(q)
    ones, zeros = x / (a @ one), (1 - x) / (a @ zero)
    if kind == "E":
        return q._replace(alpha=0.5 + one * (a.T @ ones), beta=0.5 + zero * (a.T @ zeros))
    return q._replace(gamma=1.0 + a * (ones @ one.T + zeros @ zero.T))


def _bound(x: np.ndarray, q: ToyPosterior) -> float:
    """Eq. B.1 with the best Q: the cells' log sums less both divergences from the priors."""
    a, one, zero = _factors(q)
    cells = np.where(x == 1, np.log(a @ one), np.log(a @ zero)).sum()
    sources = (q.alpha - 0.5) * np.log(one) + (q.beta - 0.5) * np.log(zero)
    sources = sources + betaln(0.5, 0.5) - betaln(q.alpha, q.beta)
    k = q.gamma.shape[1]
    rows = ((q.gamma - 1) * np.log(a)).sum(axis=1) + gammaln(q.gamma.sum(axis=1))
    rows = rows - gammaln(q.gamma).sum(axis=1) - gammaln(k)
    return float(cells - sources.sum() - rows.sum())


def steps(report: Report) -> None:
    """Figure 2, left, and section 2.1.1: the paper's inner loops, step by step."""
    report.section("Figure 2, left: the bound over the E- and M-steps")
    x = make_toy(0.1).to_numpy()
    found = list(alternate(x, TRUE_K, 30 if report.quick else 60, seed=0))
    kinds, bound = np.array([kind for kind, _ in found]), np.array([value for _, value in found])
    at = np.arange(1, len(bound) + 1)
    curves = {f"{kind}-step": (at[kinds == kind], bound[kinds == kind]) for kind in "EM"}
    display = CurvesDisplay(curves, "step", "evidence bound")
    display.plot(dots=list(curves), log_x=True)
    report.figure(display, "Figure 2, left: the bound within E- and M-steps.", "Figure 2, left")
    fall = float(np.minimum(np.diff(bound), 0).min())
    finding = f"largest fall {abs(fall):.1g}"
    report.claim("Figure 2, left", "the evidence bound never falls", finding, fall > -1e-9)
    starts = np.flatnonzero(np.r_[True, kinds[1:] != kinds[:-1]])
    lengths = np.diff(np.r_[starts, len(kinds)])
    early, late = lengths[:10].mean(), lengths[-10:].mean()
    finding = f"{early:.1f} steps a loop at first, {late:.1f} at the end"
    report.claim("Figure 2, left", "inner loops get shorter over time", finding, bool(late < early))
    e_loops = lengths[kinds[starts] == "E"]
    report.claim(
        "Section 2.1.1",
        "the inner loop typically converges within 5-6 iterations or less",
        f"median {np.median(e_loops):.0f}, {(e_loops <= 6).mean():.0%} of the loops within 6",
        bool(np.median(e_loops) <= 6),
    )


def orders(report: Report) -> None:
    """Figure 2, right: bound and evidence over the number of components."""
    report.section("Figure 2, right: how many components")
    starts, chains, sweeps = (5, 3, 100) if report.quick else (20, 10, 500)
    for name, concentration in (("uniform mixing", 1.0), ("sparse mixing", 0.1)):
        table = make_toy(concentration)
        models = {k: fitted("bBICA", table, k, n_init=starts, tol=1e-8) for k in range(2, 7)}
        bound = {k: float(model.evidence_) for k, model in models.items()}
        options: dict[str, Any] = {"n_chains": chains, "n_steps": sweeps, "random_state": 0}
        exact = {k: log_evidence(m, table, **options).value for k, m in models.items()}
        curves = {
            "bound (B.1)": (list(bound), list(bound.values())),
            "log evidence, annealed": (list(exact), list(exact.values())),
        }
        display = CurvesDisplay(curves, "number of components", "nats").plot()
        report.figure(display, f"Figure 2, right: evidence by K, {name}.", "Figure 2, right")
        best, true = max(bound, key=bound.__getitem__), max(exact, key=exact.__getitem__)
        report.claim(
            "Figure 2, right",
            f"the bound peaks at the true K = {TRUE_K} ({name})",
            f"it peaks at K = {best}; the evidence itself at K = {true}",
            best == TRUE_K,
        )


def extinction(report: Report) -> None:
    """Section 2.2: components too many, with the paper's prior and with sparser ones."""
    report.section("Section 2.2: extinction of superfluous components")
    table = make_toy(0.1)
    rows: list[dict[str, Any]] = []
    for gamma0 in (1.0, 0.2, 0.1):
        for prune in (False, True):
            model = fitted("bBICA", table, 6, n_init=3, gamma0=gamma0, prune=prune)
            dead = len(model.extinct_)
            rows.append({"gamma0": gamma0, "prune": prune, "extinct of 6": dead})
    report.table(Tidy.from_rows(rows), f"The toy has {TRUE_K} components; 6 were fitted.")
    plain = rows[0]["extinct of 6"]
    report.claim(
        "Section 2.2",
        "at more than 3 components the extra ones are eliminated (Dirichlet prior of 1)",
        f"{plain} of 6 go extinct with gamma0 = 1, {rows[-1]['extinct of 6']} with gamma0 = 0.1 "
        "and pruning",
        plain == 6 - TRUE_K,
    )
