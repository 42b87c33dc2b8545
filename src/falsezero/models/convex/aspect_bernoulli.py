"""The Aspect Bernoulli model: every zero and every one has its cause.

E. Bingham, A. Kabán and M. Fortelius, "The aspect Bernoulli model: multiple causes of presences
and absences", Pattern Analysis and Applications 12 (2009). Equation numbers are that paper's; its
observations n are our rows, its attributes t our columns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from falsezero.backends import map_shards, workers
from falsezero.base.criteria import InformationCriteria
from falsezero.base.estimator import Interval, StrOptions
from falsezero.data.blocks import Block, Blocks
from falsezero.data.row_files import opened, put_weights
from falsezero.inference.contract import Fit, Point
from falsezero.models.convex.averaged import (
    Averaged,
    AveragedSteps,
    is_worth_averaging,
    reordered_shares,
)
from falsezero.models.convex.batches import CountedBySteps
from falsezero.models.convex.family import (
    NEARER,
    Components,
    ConvexModel,
    RowWeights,
    clip_to_reference,
    concatenate_ordered,
    cut_rows,
    floor_of,
    fused_pass,
    normalise_rows,
    renewed_rows,
    sum_over_cells,
    uniform_rows,
)
from falsezero.models.convex.rows import settled_weights
from falsezero.models.convex.series import series_log_likelihood
from falsezero.models.convex.sparse import SparseSteps

__all__ = ["AspectBernoulli"]


_NEAR_A_ROW = 0.6


class _Statistics(NamedTuple):
    """Additive over blocks: expected ones and zeros of each component and column."""

    ones: np.ndarray
    zeros: np.ndarray
    log_likelihood: float
    log_prior: float


class ExactSteps(CountedBySteps):
    """EM over every cell (eqs. 4-6 in the form of eqs. 9-11).

    The E-step is never written out: with U = X / P and V = (1 - X) / (1 - P), the expected counts
    are a (W'U) and (1 - a) (W'V), and a row's are w (U a' + V (1 - a)'). Both M-steps use the same
    E-step, so the likelihood cannot fall. `prior` pseudo-observations at the column's own mean,
    spread evenly over the components in each row, make it a posterior.
    """

    state_params = {"components": 0}
    local_params = {"weights": 1}

    def __init__(self, n_components: int, blocks: Blocks, prior: float = 0.0):
        self.n_components = n_components
        self.prior = prior
        total, observed = blocks.column_counts
        self.column_mean = ((total + 0.5) / (observed + 1)).astype(blocks.dtype)
        self.dtype = blocks.dtype
        self.floor = floor_of(blocks.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Components, list[RowWeights]]:
        """Weights uniform on the simplex; components half-way between a row and noise.

        Starting each component near some row of the table finds better optima, and phantoms more
        surely, than the uniform noise of the paper.
        """
        weights = rng.dirichlet(np.ones(self.n_components), size=blocks.shape[0])
        return self.init_state(blocks, rng), cut_rows(weights, blocks)

    def init_rows(self, block: Block, rng: np.random.Generator) -> RowWeights:
        """Rows of one block, where no process is to hold those of all blocks."""
        weights = rng.dirichlet(np.ones(self.n_components), size=block.shape[0])
        return RowWeights(weights.astype(self.dtype))

    def init_state(self, blocks: Blocks, rng: np.random.Generator) -> Components:
        """Components near some rows."""
        n_rows, n_columns = blocks.shape
        picked = rng.choice(n_rows, self.n_components, replace=self.n_components > n_rows)
        rows = blocks.dense_rows(picked)
        rows = np.where(np.isnan(rows), self.column_mean, rows)
        noise = 2 * rng.random((self.n_components, n_columns)) * self.column_mean
        components = _NEAR_A_ROW * rows + (1 - _NEAR_A_ROW) * noise.clip(max=1.0)
        return self.clip(components.astype(blocks.dtype))

    def local_step(
        self, block: Block, local: RowWeights, state: Components, rng: Any
    ) -> tuple[RowWeights, _Statistics]:
        """Eq. 9 for the rows of a block, and their share of eqs. 10-11."""
        w = local.weights
        ones, zeros, row_stat, log_likelihood = fused_pass(block, w, state.components)
        share = self.prior / self.n_components
        log_prior = share * float(np.log(w).sum()) if share else 0.0
        new = renewed_rows(block, w, row_stat, share)
        return RowWeights(new), _Statistics(ones, zeros, log_likelihood, log_prior)

    def settle(self, block: Block, local: RowWeights, state: Components) -> RowWeights:
        """Weights at their maximum, components fixed: `transform`, and the end of a fit."""
        share = self.prior / self.n_components
        weights = settled_weights(block, local.weights, state.components, share=share)
        return RowWeights(normalise_rows(weights.astype(local.weights.dtype)))

    def global_step(self, stats: _Statistics, state: Components, rng: Any) -> Components:
        """Eqs. 10-11: the share of ones among what each component is responsible for."""
        a = state.components
        ones, zeros = self.expected_counts(stats, state)
        ones += self.prior * self.column_mean
        zeros += self.prior * (1 - self.column_mean)
        total = ones + zeros
        new = np.divide(ones, total, out=a.copy(), where=total > 1e-30)
        return self.clip(new)

    def expected_counts(
        self, stats: _Statistics, state: Components
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ones and zeros that each component is responsible for in each column."""
        return state.components * stats.ones, (1 - state.components) * stats.zeros

    def state_of(self, ones: np.ndarray, zeros: np.ndarray) -> Components:
        """Components from expected counts, with the prior at the mean of these."""
        mean = (ones.sum(axis=0) + 0.5) / (ones.sum(axis=0) + zeros.sum(axis=0) + 1)
        total = ones + zeros + self.prior
        known = np.divide(ones + self.prior * mean, total, out=0 * total + mean, where=total > 0)
        return self.clip(known.astype(self.dtype))

    def objective(self, stats: _Statistics, state: Components) -> float:
        """Log likelihood (eq. 8), with the log prior where there is one."""
        return stats.log_likelihood + stats.log_prior + self.log_prior(state.components)

    def log_prior(self, a: np.ndarray) -> float:
        """Log density of the pseudo-observations under the components, up to a constant."""
        if not self.prior:
            return 0.0
        mean = self.column_mean
        return self.prior * float((mean * np.log(a) + (1 - mean) * np.log1p(-a)).sum())

    def project(self, trial: Point, reference: Point) -> Point:
        """Components into (0, 1), weights onto the simplex, neither much nearer the edge."""
        a = clip_to_reference(trial.state.components, reference.state.components)
        rows = [
            RowWeights(normalise_rows(np.maximum(t.weights, NEARER * r.weights)))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(self.clip(a), rows)

    def clip(self, components: np.ndarray) -> Components:
        """Components no nearer to 0 and 1 than their precision can tell."""
        return Components(np.clip(components, self.floor, 1 - self.floor))


def _weight_sum(block: Block, local: Any) -> np.ndarray:
    return np.asarray(opened(local).weights.sum(axis=0, dtype=float))


def _put_rows(order: np.ndarray, block: Block, local: Any, name: str) -> str:
    return put_weights(opened(local).weights[:, order], name)


class AspectBernoulli(InformationCriteria, ConvexModel):
    """Which zeros are real? Every cell of a row has its own cause.

    For each cell, row n picks component k with probability w_nk (`row_weights_`), and component k
    makes a one in column t with probability a_kt (`components_`), so that p(x_nt = 1) =
    sum_k w_nk a_kt with weights on the simplex. Where some zeros are omissions, a component emerges
    that makes zeros only (a "white phantom"; see `falsezero.find_phantoms`). Phantoms emerge most
    reliably under maximum likelihood, ``prior=0``, the method of the paper; the default predicts
    hidden cells better.

    Parameters
    ----------
    n_components : int, default=5
        Number of components K, phantoms included.
    solver : {"auto", "exact", "sparse"}, default="auto"
        "exact" is the paper's EM over every cell; "sparse" visits only the ones and the few zeros
        that are nearly ones, and sums over the others by Gram matrices; "auto" picks one of them.
    prior : "auto" or float, default="auto"
        Protection against overfitting. A number is the weight of a prior in pseudo-observations,
        which draws each component towards the column means and each row towards equal weights; 0 is
        maximum likelihood, the method of the paper. "auto" predicts hidden cells best: the
        distribution of row weights is learnt from all rows and averaged over (see
        `falsezero.models.convex.averaged`), with one pseudo-observation on the components. Where
        that would be too costly (more than a million cells or 16 components) or a `solver` was
        chosen, "auto" means 1.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init : int, default=1
        Number of random starts; the best is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between EM steps; the objective never falls.
    binarize : float or None, default=None
        Values above this number become ones. With None, a table with anything but zeros and ones
        is refused.
    checkpoint : path or None
        File from which an interrupted fit resumes; it is removed when the fit ends.
    callback : callable or None
        Called with every row of the history; returning True stops the fit.
    n_jobs : int or None
        Number of threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
    verbose : int
        1 shows a progress bar, 2 prints a line per iteration.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Probability of a one, a_kt; components are ordered by their total weight, largest first.
    row_weights_ : array of shape (n_rows, n_components)
        Weights of the training rows, s_kn of the paper.
    weight_files_ : list of str
        The files with the row weights, after a fit to `Shards` with ``weights=`` only.
    log_likelihood_ : float
        Log likelihood of the training table.
    log_likelihood_error_ : float
        Largest difference from the sum over every cell: 0 with the exact solver, a proven bound
        with the sparse one.
    objective_ : float
        The maximised quantity: the log likelihood, plus the log prior where `prior` is not 0.
    history_ : list of dict
        One entry per iteration: objective, seconds, kind of step.
    converged_, n_iter_ : bool, int
    n_features_in_, feature_names_in_ : int, array

    Examples
    --------
    >>> from falsezero.datasets import make_aspect_bernoulli
    >>> table = make_aspect_bernoulli(200, 30, 3, random_state=0).table
    >>> model = AspectBernoulli(n_components=3, n_init=3, random_state=0).fit(table)
    >>> model.components_.shape, model.row_weights_.shape
    ((3, 30), (200, 3))
    """

    capabilities = replace(ConvexModel.capabilities, sample_size="cells")
    _rows_may_stay = True
    is_averaged_ = False
    """Whether row weights were averaged over; models saved before that was possible were not."""

    _parameter_constraints = {
        **ConvexModel._parameter_constraints,
        "solver": [StrOptions({"auto", "exact", "sparse"})],
        "prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        solver: str = "auto",
        prior: float | str = "auto",
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
        self.solver = solver
        self.prior = prior
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

    def _optimise(self, blocks: Blocks) -> Fit:
        is_auto = self.prior == "auto" and self.solver == "auto"
        self.is_averaged_ = is_auto and is_worth_averaging(blocks.shape, self.n_components)
        return super()._optimise(blocks)

    def _begin(self, blocks: Blocks) -> None:
        self.is_averaged_ = False
        super()._begin(blocks)

    def _steps(self, blocks: Blocks) -> Any:
        prior = 1.0 if isinstance(self.prior, str) else self.prior
        if self.is_averaged_:
            return AveragedSteps(self.n_components, blocks, prior)
        exact = ExactSteps(self.n_components, blocks, prior)
        return SparseSteps(exact) if self._is_sparse(blocks) else exact

    def _fresh_rows(self, blocks: Blocks) -> list[Any]:
        rows = uniform_rows(blocks, self.n_components)
        return SparseSteps.cold(rows) if self._is_sparse(blocks) else rows

    def _start_rows(self, blocks: Blocks) -> Point:
        # Rows may come in single precision to a model that was fitted in double.
        dtype = float if self._is_sparse(blocks) else blocks.dtype
        low, high = floor_of(dtype), 1 - floor_of(blocks.dtype)
        components = np.clip(self.components_.astype(dtype), low, high)
        state: Any = Components(components)
        if self.is_averaged_:
            state = Averaged(components, self.point_shares_.astype(dtype))
        return Point(state, self._fresh_rows(blocks))

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        for name in ("points_", "point_shares_", "row_weights_", "weight_files_"):
            self.__dict__.pop(name, None)
        with workers(self.n_jobs, len(blocks)) as run:
            sums = map_shards(run, _weight_sum, blocks, fit.local)
            order = np.argsort(-sum(sums), kind="stable")
            if blocks.row_files is not None:
                names = blocks.row_files.final_names(len(blocks))
                put_rows = partial(_put_rows, order)
                self.weight_files_ = map_shards(run, put_rows, blocks, fit.local, names)
        self.components_ = fit.state.components[order]
        if blocks.row_files is None:
            self.row_weights_ = concatenate_ordered([part.weights for part in fit.local], order)
        self.log_likelihood_, self.log_likelihood_error_ = self._measured(fit, blocks)
        self.n_observed_ = blocks.n_observed
        if self.is_averaged_:
            self.points_ = self._steps(blocks).points
            self.point_shares_ = reordered_shares(self.points_, fit.state.proportions, order)

    def _adopt_state(self, state: Components) -> None:
        self.components_ = state.components

    def _measured(self, fit: Fit, blocks: Blocks) -> tuple[float, float]:
        """Log likelihood and its error: none where every cell is visited."""
        components = fit.state.components
        if self.is_averaged_:
            steps = self._steps(blocks)
            return float(sum(steps.posterior(b, fit.state)[1].sum() for b in blocks)), 0.0
        if not self._is_sparse(blocks):
            return sum_over_cells(blocks, fit.local, components), 0.0
        with workers(self.n_jobs, len(blocks)) as run:
            return series_log_likelihood(blocks, fit.local, components, components, run)

    def _row_prior(self) -> tuple[np.ndarray, np.ndarray]:
        if self.is_averaged_:
            return self.points_, self.point_shares_
        return super()._row_prior()

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit, T K + (K - 1) N (eq. 26).

        Where row weights are averaged, the shares of the points that any row has stand for
        (K - 1) N.
        """
        n_components, n_columns = self.components_.shape
        n_rows = self._n_rows
        free = (n_components - 1) * n_rows
        if self.is_averaged_:
            free = int((self.point_shares_ * n_rows > 0.5).sum()) - 1
        return n_columns * n_components + free
