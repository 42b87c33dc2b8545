"""Binary independent component analysis: convex Bernoulli factors with Beta sources.

A. Kabán and E. Bingham, "Factorisation and denoising of 0-1 data: a variational approach",
Neurocomputing 71 (2008). Equation numbers are that paper's; its instances t are our rows, its
features n our columns.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.backends import workers
from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import Interval, StrOptions
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Fit, Point
from falsezero.inference.engine import restart_rows
from falsezero.inference.prune import prune
from falsezero.models.convex.family import ConvexModel, concatenate_ordered
from falsezero.models.convex.variational import (
    EXTINCT_CELLS,
    Sources,
    VariationalBayes,
    VariationalEM,
)
from falsezero.models.convex.variational_sparse import (
    SparseBayes,
    SparseEM,
    exact_bound,
    series_bound,
)

__all__ = ["BinaryICA"]

_BLOCK_CELLS = 262144


class BinaryICA(ConvexModel):
    """Which zeros are real, and how sure are we? Convex Bernoulli factors with Beta sources.

    The likelihood is that of `AspectBernoulli`: row t picks component k with probability a_tk and
    component k makes a one in column n with probability b_kn. Here every b_kn has a Beta prior and,
    with ``inference="vb"``, every row of weights a Dirichlet prior; their posteriors are learnt.
    That gives three things that maximum likelihood does not: uncertainty of components and weights,
    a bound on the evidence that judges the number of components (`evidence_`), and superfluous
    components that die out (`extinct_`).

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
    solver : {"auto", "exact", "sparse"}, default="auto"
        As in `AspectBernoulli`.
    alpha0, beta0 : float, default=0.5
        Beta prior of the sources (eq. 3).
    gamma0 : float, default=1.0
        Dirichlet prior of the weights of a row; below 1 it favours few components per row.
    prune : bool, default=False
        Whether to try, once the fit has converged, to remove each component, and to keep removals
        that raise the evidence. Superfluous components then die out where the priors allow it, with
        a `gamma0` of about 0.2 or less; a Dirichlet(1) prior favours using all components.
    inner_iter : int, default=1
        Updates of the rows per update of the sources (solver "exact").
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init : int, default=1
        Number of random starts; the one with the best evidence is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between steps; the objective never falls.
    binarize, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

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
        Bound on the log evidence, eq. B.1 ("em": eq. 6), whatever the solver.
    evidence_error_ : float
        Largest difference of `evidence_` from the sum over every cell: 0 with the exact solver, a
        proven bound with the sparse one.
    extinct_ : array of int
        Components whose posterior is back at the prior: they explain less than one cell.
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`.

    Examples
    --------
    Three causes, and room for two more. The prior favours few causes per row:

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
        "solver": [StrOptions({"auto", "exact", "sparse"})],
        "alpha0": [Interval(Real, 0, None, closed="neither")],
        "beta0": [Interval(Real, 0, None, closed="neither")],
        "gamma0": [Interval(Real, 0, None, closed="neither")],
        "prune": ["boolean"],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        inference: str = "vb",
        solver: str = "auto",
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
        self.solver = solver
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

    def _measures(self) -> dict[str, float]:
        return {"evidence": self.evidence_}

    def _idle_components(self) -> dict[int, str]:
        return dict.fromkeys(self.extinct_.tolist(), "extinct")

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """With free weights the bound of variational EM grows with every component."""
        return replace(ConvexModel.capabilities, has_evidence=self.inference == "vb")

    def _block_rows(self, values: Any) -> int | None:
        # The pass stays in cache for any block size, so large blocks are better.
        return None if sparse.issparse(values) else max(64, _BLOCK_CELLS // values.shape[1])

    def _steps(self, blocks: Blocks) -> VariationalEM:
        return self._variational(blocks, self._is_sparse(blocks))

    def _variational(self, blocks: Blocks, is_sparse: bool) -> VariationalEM:
        shapes = (self.alpha0, self.beta0)
        if self.inference == "em":
            em = SparseEM if is_sparse else VariationalEM
            return em(self.n_components, blocks, shapes, self.inner_iter)
        vb = SparseBayes if is_sparse else VariationalBayes
        return vb(self.n_components, blocks, shapes, self.gamma0, self.inner_iter)

    def _optimise(self, blocks: Blocks) -> Fit:
        fit = super()._optimise(blocks)
        steps: Any = self._steps(blocks)
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        with workers(self.n_jobs, len(blocks)) as run:
            if self.prune:
                fit = prune(steps, blocks, fit, run, **options)
            if fit.converged and steps.is_rugged:
                fit = restart_rows(steps, blocks, fit, self._fresh_rows(blocks), run, **options)
            return fit

    def _start_rows(self, blocks: Blocks) -> Point:
        steps: Any = self._steps(blocks)
        ones, zeros = self.alpha_ - self.alpha0, self.beta_ - self.beta0
        return Point(steps.sources(ones, zeros), self._fresh_rows(blocks))

    def _fresh_rows(self, blocks: Blocks) -> list[Any]:
        uniform = np.full((blocks.shape[0], self.n_components), 1 / self.n_components)
        return self._steps(blocks).rows(uniform, blocks)

    def _weights(self, local: Any) -> np.ndarray:
        is_counts = self.inference == "vb"
        weights: np.ndarray = local.counts if is_counts else local.weights
        return weights / weights.sum(axis=1, keepdims=True) if is_counts else weights

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = [self._weights(part) for part in fit.local]
        order = np.argsort(-sum(part.sum(axis=0, dtype=float) for part in weights), kind="stable")
        self.row_weights_ = concatenate_ordered(weights, order)
        self.alpha_, self.beta_ = fit.state.alpha[order], fit.state.beta[order]
        self.components_ = self.alpha_ / (self.alpha_ + self.beta_)
        self.__dict__.pop("gamma_", None)
        if self.inference == "vb":
            self.gamma_ = concatenate_ordered([part.counts for part in fit.local], order)
        steps = self._variational(blocks, is_sparse=False)
        self.evidence_, self.evidence_error_ = self._measured(steps, fit, blocks)
        self.extinct_ = np.flatnonzero(steps.cells(fit.state)[order] < EXTINCT_CELLS)

    def _adopt_state(self, state: Sources) -> None:
        self.alpha_, self.beta_ = state.alpha, state.beta
        self.components_ = self.alpha_ / (self.alpha_ + self.beta_)

    def _measured(self, exact: VariationalEM, fit: Fit, blocks: Blocks) -> tuple[float, float]:
        """The bound on the evidence and its error: none where every cell is visited."""
        point = Point(fit.state, fit.local)
        if not isinstance(self._steps(blocks), (SparseEM, SparseBayes)):
            return exact_bound(exact, blocks, point), 0.0
        with workers(self.n_jobs, len(blocks)) as run:
            return series_bound(exact, blocks, point, run)
