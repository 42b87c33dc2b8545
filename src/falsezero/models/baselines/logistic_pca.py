"""Logistic PCA: real-valued factors of the log odds.

A. I. Schein, L. K. Saul and L. H. Ungar, "A generalized linear model for principal component
analysis of binary data", AISTATS 2003; the model LPCA that Bingham et al. (2009) and Kabán and
Bingham (2008) compare with.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from falsezero.base.capabilities import Capabilities
from falsezero.base.criteria import InformationCriteria
from falsezero.base.empirical_bayes import EmpiricalBayes
from falsezero.base.estimator import Interval, OptimisedModel
from falsezero.data.blocks import UNOBSERVED, Block, Blocks
from falsezero.inference import tree
from falsezero.inference.climb import RowTerms, add_to_diagonal, climb_rows, packed_products
from falsezero.inference.contract import Fit, Point
from falsezero.kernels.logistic import logistic_cells, solve_many
from falsezero.models.convex.family import RowWeights

__all__ = ["LogisticPCA"]

_SUBSPACE_STEPS = 3


class Loadings(NamedTuple):
    """The shared state: a loading for each component and column, and a log odds for each column."""

    components: np.ndarray
    bias: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks: for each column its normal equations in (weights, 1)."""

    gram: np.ndarray
    """Columns x upper triangle of the weighted Gram matrix."""
    right: np.ndarray
    """Columns x right-hand side."""
    log_likelihood: float
    squares: float
    """Sum of the squared weights, for the prior."""


class LogisticSteps:
    """Alternating least squares under a quadratic bound that touches log sigma at theta.

    With theta = U V + b and weights l = tanh(theta / 2) / (2 theta), log sigma is at least a
    quadratic in theta with curvature l (Jaakkola and Jordan; eqs. 8-13 of Schein et al.). A row's
    weights then solve K equations whose matrix is sum_t l_nt v_t v_t', a column's loadings and
    bias solve K + 1. All matrices of one side are one matrix product of the l with the products
    of pairs of loadings, so that an iteration costs O(N T K^2) in BLAS.

    `ridge` is the precision of a Gaussian prior on weights and loadings (around 0) and on the bias
    (around the column's own log odds); without it, fits of separable tables diverge.
    """

    state_params = {"components": None, "bias": None}
    local_params = {"weights": None}

    def __init__(self, n_components: int, blocks: Blocks, ridge: float, bias: bool):
        self.n_components = n_components
        self.ridge = ridge
        self.bias = bias
        total, observed = blocks.column_counts
        self.column_mean = (total + 0.5) / (observed + 1)
        self.log_odds = logit(self.column_mean) if bias else np.zeros(blocks.shape[1])
        self.pairs = np.triu_indices(n_components)
        self.wide_pairs = np.triu_indices(n_components + bias)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Loadings, list[RowWeights]]:
        """Leading principal components of the table by subspace iteration from a random start."""
        n_columns, k = blocks.shape[1], self.n_components
        basis = rng.normal(size=(n_columns, k))
        for _ in range(_SUBSPACE_STEPS):
            basis = _orthonormal(basis, rng)
            basis = np.asarray(sum(tile.T @ (tile @ basis) for tile in self._centred(blocks)))
        basis = _orthonormal(basis, rng)
        weights = np.concatenate([4 * tile @ basis for tile in self._centred(blocks)])
        # Balanced factors: neither side is favoured by the prior.
        scale = np.sqrt(np.maximum(np.linalg.norm(weights, axis=0), 1e-3))
        state = Loadings((basis * scale).T.copy(), self.log_odds.copy())
        return state, [RowWeights(weights[b.rows] / scale) for b in blocks]

    def local_step(
        self, block: Block, local: RowWeights, state: Loadings, rng: Any
    ) -> tuple[RowWeights, _Statistics]:
        """New weights of the rows of a block, and its share of the columns' normal equations."""
        parts = [
            self._tile(tile, local.weights[tile.start - block.start :][: tile.shape[0]], state)
            for tile in block.tiles()
        ]
        weights = np.concatenate([weights for weights, _ in parts])
        return RowWeights(weights), tree.total([stats for _, stats in parts])

    def _tile(
        self, tile: Block, weights: np.ndarray, state: Loadings
    ) -> tuple[np.ndarray, _Statistics]:
        v = state.components
        curvature = weights @ v + state.bias
        decay = np.exp(-np.abs(curvature))
        target = np.empty_like(curvature)
        log_likelihood = logistic_cells(tile.codes, curvature, decay, target)
        first, second = self.pairs
        new = (target - curvature * state.bias) @ v.T
        solve_many(curvature @ (v[first] * v[second]).T, new, self.ridge)
        wide = np.column_stack([new, np.ones(len(new))]) if self.bias else new
        first, second = self.wide_pairs
        gram = curvature.T @ (wide[:, first] * wide[:, second])
        squares = float(np.square(weights).sum())
        return new, _Statistics(gram, target.T @ wide, log_likelihood, squares)

    def settle(self, block: Block, local: RowWeights, state: Loadings) -> RowWeights:
        """Weights at their maximum, loadings fixed: a small logistic regression a row."""
        found = []
        for tile in block.tiles():
            start = local.weights[tile.start - block.start :][: tile.shape[0]]
            surface = _LogisticSurface(tile.codes, state, self.ridge)
            found.append(climb_rows(surface, start, low=None))
        return RowWeights(np.concatenate(found))

    def global_step(self, stats: _Statistics, state: Loadings, rng: Any) -> Loadings:
        """New loadings and bias of every column."""
        right = stats.right.copy()
        if not self.bias:
            solve_many(stats.gram, right, self.ridge)
            return Loadings(np.ascontiguousarray(right.T), state.bias)
        right[:, -1] += self.ridge * self.log_odds
        solve_many(stats.gram, right, self.ridge)
        return Loadings(np.ascontiguousarray(right[:, :-1].T), right[:, -1].copy())

    def objective(self, stats: _Statistics, state: Loadings) -> float:
        """Log likelihood and log prior."""
        return stats.log_likelihood - self.penalty(stats.squares, state)

    def penalty(self, squares: float, state: Loadings) -> float:
        """Minus the log prior, up to a constant."""
        loadings = float(np.square(state.components).sum())
        bias = float(np.square(state.bias - self.log_odds).sum())
        return 0.5 * self.ridge * (squares + loadings + bias)

    def project(self, trial: Point, reference: Point) -> Point:
        """Nothing to do: any real numbers are allowed."""
        return trial

    def _centred(self, blocks: Blocks) -> Iterator[np.ndarray]:
        """Zeros and ones less the mean of their column, a few rows at a time."""
        for block in blocks:
            for tile in block.tiles():
                codes = tile.codes
                yield np.where(codes == UNOBSERVED, 0.0, (codes == 1) - self.column_mean)


class _LogisticSurface:
    """Log likelihood of rows less ridge |w|^2 / 2."""

    def __init__(self, codes: np.ndarray, state: Loadings, ridge: float):
        self.codes, self.state, self.ridge = codes, state, ridge
        self.products = packed_products(state.components).T

    def __call__(self, rows: np.ndarray, w: np.ndarray) -> RowTerms:
        codes, v = self.codes[rows], self.state.components
        theta = w @ v + self.state.bias
        sign = np.where(codes == 1, 1.0, -1.0)
        cells = np.where(codes == UNOBSERVED, 0.0, -np.logaddexp(0.0, -sign * theta))
        value = cells.sum(axis=1) - 0.5 * self.ridge * np.square(w).sum(axis=1)
        p = expit(theta)
        miss = np.where(codes == UNOBSERVED, 0.0, (codes == 1) - p)
        bend = np.where(codes == UNOBSERVED, 0.0, p * (1 - p)) @ self.products
        add_to_diagonal(bend, self.ridge, w.shape[1])
        return value, miss @ v.T - self.ridge * w, bend


def _orthonormal(basis: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal columns that span what `basis` spans."""
    n_columns, k = basis.shape
    q = np.linalg.qr(basis)[0]
    if k <= n_columns:
        return q
    # More components than columns: the others start as small noise.
    return np.column_stack([q, 1e-2 * rng.normal(size=(n_columns, k - q.shape[1]))])


class LogisticPCA(InformationCriteria, EmpiricalBayes, OptimisedModel):
    """Principal components of a table of zeros and ones, on the scale of log odds.

    log odds of a one = sum_k u_nk v_kt + b_t, with real-valued row weights u (`row_weights_`),
    loadings v (`components_`) and biases b (`bias_`). A flexible fit whose factors cannot be read
    as causes; it overfits early (Bingham et al., Fig. 2).

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    bias : bool, default=True
        Whether every column has a log odds of its own.
    ridge : float, default=1e-3
        Precision of a Gaussian prior on weights and loadings. The default is weak: it keeps
        separable tables finite.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init, acceleration, binarize, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Loadings, orthogonal to each other, the largest first.
    bias_ : array of shape (n_columns,)
    row_weights_ : array of shape (n_rows, n_components)
        Weights of the training rows.
    log_likelihood_ : float
        Of the training table, at those weights.
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`; the objective has the log prior in it.

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.datasets.make_digits_demo().table
    >>> model = LogisticPCA(n_components=2, random_state=0, tol=1e-4).fit(digits)
    >>> model.transform(digits).shape
    (1797, 2)
    """

    capabilities = Capabilities(
        table="binary",
        link="logistic",
        row_score="density",
        sample_size="cells",
        distributed=True,
    )
    bias_: np.ndarray
    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
        "bias": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        bias: bool = True,
        ridge: float = 1e-3,
        max_iter: int = 500,
        tol: float = 1e-6,
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
        self.bias = bias
        self.ridge = ridge
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

    def _steps(self, blocks: Blocks) -> LogisticSteps:
        return LogisticSteps(self.n_components, blocks, self.ridge, self.bias)

    def _start_rows(self, blocks: Blocks) -> Point:
        state = Loadings(self.components_.astype(float), self.bias_.astype(float))
        return Point(state, self._fresh_rows(blocks))

    def _fresh_rows(self, blocks: Blocks) -> list[Any]:
        return [RowWeights(np.zeros((b.shape[0], self.n_components))) for b in blocks]

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = np.concatenate([part.weights for part in fit.local])
        v = fit.state.components
        # Likelihood and prior are blind to rotations; this one makes the loadings orthogonal.
        turn = np.linalg.eigh(v @ v.T)[1][:, ::-1]
        self.components_ = (turn.T @ v).astype(blocks.dtype)
        self.bias_ = fit.state.bias.astype(blocks.dtype)
        self.row_weights_ = (weights @ turn).astype(blocks.dtype)
        penalty = self._steps(blocks).penalty(float(np.square(weights).sum()), fit.state)
        self.log_likelihood_ = fit.objective + penalty
        self.n_observed_ = blocks.n_observed

    def _weights(self, local: RowWeights) -> np.ndarray:
        return local.weights.astype(self.components_.dtype)

    @property
    def _link_offset(self) -> np.ndarray:
        return self.bias_

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit: (N + T) K - K^2 (a K x K map is free to choose).

        Biases add T and take K away: a shift of all row weights is a bias too.
        """
        k, n_columns = self.components_.shape
        free = (len(self.row_weights_) + n_columns) * k - k * k
        return free + (n_columns - k) * self.bias
