"""Binary independent component analysis: convex Bernoulli factors with Beta sources.

A. Kabán and E. Bingham, "Factorisation and denoising of 0-1 data: a variational approach",
Neurocomputing 71 (2008). Equation numbers are that paper's; its instances t are our rows, its
features n our columns.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from falsezero.backends import workers
from falsezero.base import Interval, StrOptions
from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Fit, Point, Steps
from falsezero.inference.prune import prune
from falsezero.kernels.convex import ConvexStatistics
from falsezero.kernels.dirichlet import dirichlet_factors
from falsezero.models._convex import (
    NEARER,
    ConvexModel,
    RowWeights,
    cut_rows,
    floor_of,
    fused_pass,
    normalise_rows,
    uniform_rows,
)

__all__ = ["BinaryICA"]

_EXTINCT_CELLS = 1.0


class Sources(NamedTuple):
    """The shared state: one Beta per component and column (eq. 7), and what follows from it."""

    alpha: np.ndarray
    beta: np.ndarray
    ones: np.ndarray
    """exp<log b>, the factor of a one."""
    zeros: np.ndarray
    """exp<log(1 - b)>, the factor of a zero."""
    divergence: float
    """KL(q(b) || prior), summed over components and columns."""


class RowCounts(NamedTuple):
    """Row quantities of a block: Dirichlet parameters of the weights (eq. B.5)."""

    counts: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks."""

    ones: np.ndarray
    zeros: np.ndarray
    log_bound: float
    divergence: float


class VariationalEM:
    """Variational EM: Beta posteriors of the sources, best values of the weights (eqs. 8-12).

    The bound is taken at its best Q (eq. 9) for the q(b) and weights at hand,
    sum log sum_k a_tk exp<log b_kn> (or the factor of a zero) - KL(q(b) || prior), so that Q is
    never stored. Given Q, q(b) and the weights do not touch each other: both are renewed from one
    pass and the bound cannot fall. `inner_iter` passes renew the rows before the sources once.
    """

    state_params: dict[str, int | None] = {"alpha": 0, "beta": 0}
    local_params: dict[str, int | None] = {"weights": 1}

    def __init__(
        self, n_components: int, blocks: Blocks, shapes: tuple[float, float], inner_iter: int = 1
    ):
        self.n_components = n_components
        self.shapes = np.array(shapes, dtype=float)
        self.inner_iter = inner_iter
        self.dtype = blocks.dtype
        self.floor = floor_of(blocks.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Sources, list[Any]]:
        """Weights uniform on the simplex, sources uniform around the column means."""
        n_rows, n_columns = blocks.shape
        weights = rng.dirichlet(np.ones(self.n_components), size=n_rows)
        noise = rng.random((self.n_components, n_columns))
        ones, observed = blocks.column_counts
        mean = np.clip(2 * noise * (ones + 0.5) / (observed + 1), 0.0, 0.5 + 0.5 * noise)
        share = observed / self.n_components
        return self.sources(share * mean, share * (1 - mean)), self.rows(weights, blocks)

    def rows(self, weights: np.ndarray, blocks: Blocks) -> list[Any]:
        """Row quantities with these weights."""
        return list(cut_rows(weights, blocks))

    def sources(self, ones: np.ndarray, zeros: np.ndarray) -> Sources:
        """Posteriors from expected ones and zeros of each component and column (eq. 8)."""
        alpha, beta = ones + self.shapes[0], zeros + self.shapes[1]
        counts = np.stack([alpha.ravel(), beta.ravel()])
        factors = np.empty(counts.shape, dtype=self.dtype)
        divergence = dirichlet_factors(counts, self.shapes, self.floor, factors)
        one, zero = factors.reshape(2, *alpha.shape)
        return Sources(alpha, beta, one, zero, divergence)

    def local_step(
        self, block: Block, local: Any, state: Sources, rng: Any
    ) -> tuple[Any, _Statistics]:
        """Renew the rows of a block `inner_iter` times, and take its share of eqs. 10-11."""
        weights, divergence = self.row_factors(local)
        seen = fused_pass(block, weights, state.ones, state.zeros)
        log_bound = seen.log_likelihood
        for _ in range(self.inner_iter - 1):
            local = self.renew_rows(block, local, weights, seen)
            weights, _ = self.row_factors(local)
            seen = fused_pass(block, weights, state.ones, state.zeros)
        local = self.renew_rows(block, local, weights, seen)
        return local, _Statistics(seen.ones, seen.zeros, log_bound, divergence)

    def row_factors(self, local: Any) -> tuple[np.ndarray, float]:
        """W of the pass, and the divergence of the rows from their prior (none here)."""
        return local.weights, 0.0

    def renew_rows(
        self, block: Block, local: Any, weights: np.ndarray, seen: ConvexStatistics
    ) -> Any:
        """Eq. 12; a row without any observed cell keeps the weights that it has."""
        new = weights * seen.row_stat
        if block.missing is not None:
            new = np.where(block.observed[:, None] > 0, new, weights)
        new /= new.sum(axis=1, keepdims=True)
        return RowWeights(new)

    def global_step(self, stats: _Statistics, state: Sources, rng: Any) -> Sources:
        """Eqs. 10-11."""
        return self.sources(state.ones * stats.ones, state.zeros * stats.zeros)

    def objective(self, stats: _Statistics, state: Sources) -> float:
        """The bound on the log evidence: eq. 6 here, eq. B.1 where rows have a prior too."""
        return stats.log_bound - stats.divergence - state.divergence

    def in_use(self, point: Point) -> list[int]:
        """Components that explain at least one cell, those that explain least first."""
        cells = self.cells(point.state)
        return [int(k) for k in np.argsort(cells) if cells[k] >= _EXTINCT_CELLS]

    def cells(self, state: Sources) -> np.ndarray:
        """How many cells each component explains, in expectation."""
        return (state.alpha + state.beta - self.shapes.sum()).sum(axis=1)

    def without(self, point: Point, component: int) -> Point:
        """One component back at its prior; its share of each row goes to the others alike."""
        others = [k for k in self.in_use(point) if k != component]
        ones, zeros = point.state.alpha - self.shapes[0], point.state.beta - self.shapes[1]
        ones[component] = zeros[component] = 0.0
        rows = [self.rows_without(local, component, others) for local in point.local]
        return Point(self.sources(ones, zeros), rows)

    def rows_without(self, local: Any, component: int, others: list[int]) -> Any:
        """Weights without one component."""
        return RowWeights(_shared_out(local.weights, component, others))

    def project(self, trial: Point, reference: Point) -> Point:
        """Counts and weights no nearer to their lower end than a share of the reference's."""
        state, known = trial.state, reference.state
        ones, zeros = (
            np.maximum(getattr(state, name) - prior, NEARER * (getattr(known, name) - prior))
            for name, prior in zip(("alpha", "beta"), self.shapes, strict=True)
        )
        # With a frozen state the trial has the reference's own, and its factors are at hand.
        sources = known if state is known else self.sources(ones, zeros)
        rows = [self.project_rows(*pair) for pair in zip(trial.local, reference.local, strict=True)]
        return Point(sources, rows)

    def project_rows(self, trial: Any, reference: Any) -> Any:
        """Weights back onto the simplex."""
        return RowWeights(normalise_rows(np.maximum(trial.weights, NEARER * reference.weights)))


class VariationalBayes(VariationalEM):
    """Variational Bayes: the weights of a row have a Dirichlet posterior too (appendix B)."""

    local_params = {"counts": 1}

    def __init__(
        self,
        n_components: int,
        blocks: Blocks,
        shapes: tuple[float, float],
        gamma0: float,
        inner_iter: int = 1,
    ):
        super().__init__(n_components, blocks, shapes, inner_iter)
        self.gamma0 = float(gamma0)
        self.prior = np.full(n_components, self.gamma0)

    def rows(self, weights: np.ndarray, blocks: Blocks) -> list[Any]:
        """Dirichlet parameters as if each row's observed cells were shared out by its weights."""
        cells = (weights[b.rows] * b.observed[:, None] for b in blocks)
        return [RowCounts((self.gamma0 + part).astype(self.dtype)) for part in cells]

    def row_factors(self, local: RowCounts) -> tuple[np.ndarray, float]:
        """exp<log a>, and KL(q(a) || prior) summed over the rows."""
        counts = local.counts.T.astype(float, order="C")
        factors = np.empty(counts.shape, dtype=self.dtype)
        divergence = dirichlet_factors(counts, self.prior, self.floor, factors)
        return factors.T.copy(), divergence

    def renew_rows(
        self, block: Block, local: Any, weights: np.ndarray, seen: ConvexStatistics
    ) -> RowCounts:
        """Eq. B.5."""
        return RowCounts(self.gamma0 + weights * seen.row_stat)

    def rows_without(self, local: RowCounts, component: int, others: list[int]) -> RowCounts:
        """Counts without one component."""
        cells = _shared_out(local.counts - self.gamma0, component, others)
        return RowCounts(self.gamma0 + cells)

    def project_rows(self, trial: RowCounts, reference: RowCounts) -> RowCounts:
        """Counts at least at the prior, with the reference's sum."""
        known = reference.counts - self.gamma0
        cells = np.maximum(trial.counts - self.gamma0, NEARER * known)
        total = np.maximum(cells.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return RowCounts(self.gamma0 + cells * (known.sum(axis=1, keepdims=True) / total))


def _shared_out(shares: np.ndarray, component: int, others: list[int]) -> np.ndarray:
    shares = shares.copy()
    shares[:, others] += shares[:, [component]] / len(others)
    shares[:, component] = 0.0
    return shares


class BinaryICA(ConvexModel):
    """Which zeros are real, and how sure are we? Convex Bernoulli factors with Beta sources.

    The likelihood is that of `AspectBernoulli`: row t picks component k with probability a_tk and
    component k makes a one in column n with probability b_kn. Here every b_kn has a Beta prior and
    with ``inference="vb"`` every row of weights a Dirichlet prior, and what is learnt are their
    posteriors. That gives three things that maximum likelihood does not: uncertainty of components
    and weights, a bound on the evidence that judges the number of components (`evidence_`), and
    superfluous components that die by themselves (`extinct_`).

    How many components? `evidence_` of "vb" is safe where most rows have one main cause. The
    factorised posterior makes it too low where rows mix heavily, the more so the more components
    there are, so it then prefers too few; there, compare held-out cells
    (``falsezero.select(..., criterion="cells")``, any size) or the annealed estimate of the exact
    evidence (`falsezero.log_evidence`, for tables up to some 10 000 cells). The bound of "em" does
    not judge the number of components: its weights are free parameters.

    Parameters
    ----------
    n_components : int, default=5
        Number of components K, phantoms included.
    inference : {"vb", "em"}, default="vb"
        "vb" is variational Bayes (appendix B), "em" variational EM with free weights (eqs. 8-12).
    alpha0, beta0 : float, default=0.5
        Beta prior of the sources (eq. 3).
    gamma0 : float, default=1.0
        Dirichlet prior of the weights of a row; below 1 it favours few components a row.
    prune : bool, default=False
        Whether to try, once the fit has settled, to do without each component and keep what the
        evidence gains by. Superfluous components then go extinct where the priors let them: that
        takes a `gamma0` of about 0.2 or less, as a Dirichlet(1) prior wants all components used.
    inner_iter : int, default=1
        How many times the rows are renewed before the sources are renewed once.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when the objective gains less than ``tol`` of itself
        an iteration.
    n_init : int, default=1
        Number of random starts; the one with the best evidence is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between steps; the objective never falls either way.
    binarize : float or None, default=None
        Values above become ones. With None, anything but zeros and ones is refused.
    checkpoint : path or None
        A file that lets an interrupted fit go on where it was.
    callback : callable or None
        Called with every row of the history; returning True stops the fit.
    n_jobs : int or None
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
    verbose : int
        1 shows a progress bar, 2 a line an iteration.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Posterior mean of b_kn; components are ordered by their total weight, largest first.
    alpha_, beta_ : array of shape (n_components, n_columns)
        Beta posterior of b_kn.
    row_weights_ : array of shape (n_rows, n_components)
        Posterior mean of the weights of the training rows ("em": their estimates).
    gamma_ : array of shape (n_rows, n_components)
        Dirichlet posterior of the weights of the training rows ("vb" only).
    evidence_ : float
        Bound on the log evidence, eq. B.1 ("em": eq. 6).
    extinct_ : array of int
        Components whose posterior has fallen back to the prior: they explain less than one cell.
    history_ : list of dict
        One row an iteration: objective, seconds, what was done.
    objective_, converged_, n_iter_ : float, bool, int
    n_features_in_, feature_names_in_ : int, array

    Examples
    --------
    Three causes, and room for two more than there are. The prior says that few causes make a row:

    >>> from falsezero.datasets import make_aspect_bernoulli
    >>> table = make_aspect_bernoulli(
    ...     200, 30, 3, concentration=0.05, shape=(0.5, 0.5), random_state=0).table
    >>> model = BinaryICA(5, gamma0=0.2, prune=True, n_init=3, random_state=0).fit(table)
    >>> model.extinct_
    array([3, 4])
    """

    _parameter_constraints = {
        **ConvexModel._parameter_constraints,
        "inference": [StrOptions({"vb", "em"})],
        "alpha0": [Interval(Real, 0, None, closed="neither")],
        "beta0": [Interval(Real, 0, None, closed="neither")],
        "gamma0": [Interval(Real, 0, None, closed="neither")],
        "prune": ["boolean"],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
        "acceleration": [StrOptions({"squarem"}), None],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        inference: str = "vb",
        alpha0: float = 0.5,
        beta0: float = 0.5,
        gamma0: float = 1.0,
        prune: bool = False,
        inner_iter: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_init: int = 1,
        acceleration: str | None = "squarem",
        binarize: float | None = None,
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.inference = inference
        self.alpha0 = alpha0
        self.beta0 = beta0
        self.gamma0 = gamma0
        self.prune = prune
        self.inner_iter = inner_iter
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.binarize = binarize
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> Steps:
        shapes = (self.alpha0, self.beta0)
        if self.inference == "em":
            return VariationalEM(self.n_components, blocks, shapes, self.inner_iter)
        return VariationalBayes(self.n_components, blocks, shapes, self.gamma0, self.inner_iter)

    def _optimise(self, blocks: Blocks) -> Fit:
        fit = super()._optimise(blocks)
        if not self.prune:
            return fit
        steps: Any = self._steps(blocks)
        with workers(self.n_jobs, len(blocks)) as run:
            return prune(steps, blocks, fit, run, max_iter=self.max_iter, tol=self.tol)

    def _start_rows(self, blocks: Blocks) -> Point:
        steps: Any = self._steps(blocks)
        ones, zeros = self.alpha_ - self.alpha0, self.beta_ - self.beta0
        uniform = np.concatenate([part.weights for part in uniform_rows(blocks, len(ones))])
        return Point(steps.sources(ones, zeros), steps.rows(uniform, blocks))

    def _weights(self, local: Any) -> np.ndarray:
        if isinstance(local, RowCounts):
            return local.counts / local.counts.sum(axis=1, keepdims=True)
        return local.weights

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = np.concatenate([self._weights(part) for part in fit.local])
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        self.row_weights_ = weights[:, order]
        self.alpha_, self.beta_ = fit.state.alpha[order], fit.state.beta[order]
        self.components_ = self.alpha_ / (self.alpha_ + self.beta_)
        if self.inference == "vb":
            self.gamma_ = np.concatenate([part.counts for part in fit.local])[:, order]
        self.evidence_ = fit.objective
        steps: Any = self._steps(blocks)
        self.extinct_ = np.flatnonzero(steps.cells(fit.state)[order] < _EXTINCT_CELLS)
