"""The three observation models of binary matrix factorization (section 2, eq. 1).

Each defines how likely a cell is, how features are scanned and how weights are drawn. Unobserved
cells are left out everywhere; nothing is imputed.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, gammaln

from falsezero.base.capabilities import TableKind
from falsezero.kernels import bmf as kernels
from falsezero.kernels.bmf_augment import deal_counts, polya_gammas_by_pair
from falsezero.kernels.bmf_blocks import block_scan, logistic_block_scan
from falsezero.models.bmf.state import Cells, Gamma, State

_LOG_2PI = float(np.log(2 * np.pi))


class WeightProposal(Protocol):
    """A distribution over some rows of W that can be drawn from and evaluated."""

    mean: np.ndarray

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Weights, row features x column features."""

    def log_density(self, weights: np.ndarray) -> float:
        """Log density at given weights."""


class NormalProposal:
    """A normal over a few rows of W, by its precision matrix and linear term."""

    def __init__(self, precision: np.ndarray, linear: np.ndarray):
        self.shape = linear.shape
        self.lower = cholesky(precision, lower=True)
        self.mean = cho_solve((self.lower, True), linear.ravel())

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Weights from the normal."""
        noise = rng.standard_normal(self.mean.size)
        deviation = solve_triangular(self.lower, noise, lower=True, trans="T")
        return (self.mean + deviation).reshape(self.shape)

    def log_density(self, weights: np.ndarray) -> float:
        """Log density at given weights."""
        white = self.lower.T @ (weights.ravel() - self.mean)
        log_det = np.log(np.diag(self.lower)).sum()
        return float(log_det - 0.5 * white @ white - 0.5 * white.size * _LOG_2PI)


class GammaProposal:
    """Independent gammas over a few rows of W."""

    def __init__(self, shape: np.ndarray, rate: np.ndarray):
        self.shape, self.rate = shape, rate
        self.mean = shape / rate

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Weights from the gammas."""
        return rng.standard_gamma(self.shape) / self.rate

    def log_density(self, weights: np.ndarray) -> float:
        """Log density at given weights."""
        log_norm = self.shape * np.log(self.rate) - gammaln(self.shape)
        return float((log_norm + (self.shape - 1) * np.log(weights) - self.rate * weights).sum())


def weighted_precision(by_pair: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum over cells of weight_ij (u_i x v_j)(u_i x v_j)', without the Kronecker product A.

    `by_pair` has the weights summed over the rows that have both of two row features, a row for
    each pair a <= b. Products of two column features then take one matrix product.
    """
    k, m = int(np.sqrt(2 * len(by_pair))), columns.shape[1]
    a, b = np.triu_indices(k)
    c, d = np.triu_indices(m)
    half = by_pair @ (columns[:, c] * columns[:, d])
    some = np.empty((len(a), m, m))
    some[:, c, d] = some[:, d, c] = half
    full = np.empty((k, m, k, m))
    full.transpose(0, 2, 1, 3)[a, b] = full.transpose(0, 2, 1, 3)[b, a] = some
    return full.reshape(k * m, k * m)


class _ByPredictor:
    """Base of Gaussian and Poisson: blocks of entries are scored by whole predictors."""

    kind: int

    def log_likelihood(self, cells: Cells, predictor: np.ndarray, precision: float) -> np.ndarray:
        """Log density of every cell; zero where not observed."""
        raise NotImplementedError

    def total(self, state: State, cells: Cells) -> float:
        """Log density of the table."""
        return float(self.log_likelihood(cells, state.predictor(), state.precision).sum())

    def scan_blocks(
        self, state: State, cells: Cells, on: np.ndarray, size: int, rng: np.random.Generator
    ) -> None:
        """Metropolis-Hastings over `size` entries of each row of `on` at once (section 3.3)."""
        rows, basis = state.rows, state.basis
        predictor = rows.on.astype(float) @ basis
        block_scan(
            self.kind, on, rows.n_fixed, rows.mass, rows.total, predictor, cells.values,
            cells.observed, basis, state.precision, size, rng,
        )  # fmt: skip


class _AsObserved:
    """Base of logistic and Poisson: no move needs their missing cells."""

    def completed(self, state: State, cells: Cells, rng: np.random.Generator) -> Cells:
        """The table as it was observed."""
        return cells

    def draw_precision(
        self, state: State, cells: Cells, prior: Gamma, rng: np.random.Generator
    ) -> float:
        """There is no noise precision."""
        return 1.0


class _NormalWeights:
    """Base of Gaussian and logistic: weights N(0, 1 / phi)."""

    def weight_log_prior(self, weights: np.ndarray, scale: float) -> float:
        """Log prior of weights."""
        total = weights.size * (np.log(scale) - _LOG_2PI) - scale * (weights**2).sum()
        return float(0.5 * total)

    def prior_weights(
        self, shape: tuple[int, int], scale: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Weights from their prior."""
        return rng.standard_normal(shape) / np.sqrt(scale)

    def draw_scale(self, weights: np.ndarray, prior: Gamma, rng: np.random.Generator) -> float:
        """phi | W (section 3.1)."""
        shape, rate = prior[0] + 0.5 * weights.size, prior[1] + 0.5 * (weights**2).sum()
        return float(rng.standard_gamma(shape) / rate)


class Gaussian(_ByPredictor, _NormalWeights):
    """Cells normal around u W v' with precision theta."""

    kind = kernels.GAUSSIAN
    table_kind: TableKind = "real"

    def log_likelihood(self, cells: Cells, predictor: np.ndarray, precision: float) -> np.ndarray:
        """Log density of every cell; zero where not observed."""
        terms = np.log(precision) - _LOG_2PI - precision * (cells.values - predictor) ** 2
        return 0.5 * terms * cells.observed

    def scan(self, state: State, cells: Cells, on: np.ndarray, rng: np.random.Generator) -> None:
        """Gibbs over every entry of `on` (eqs. 2-5)."""
        rows, basis = state.rows, state.basis
        residual = cells.values - rows.on.astype(float) @ basis
        common = on, rows.n_fixed, rows.mass, rows.total
        if cells.complete:
            gram = basis @ basis.T
            kernels.gaussian_scan(*common, residual @ basis.T, gram, state.precision, rng)
            return
        residual *= cells.observed
        energy = cells.observed @ (basis**2).T
        kernels.masked_scan(*common, residual, cells.observed, basis, energy, state.precision, rng)

    def completed(self, state: State, cells: Cells, rng: np.random.Generator) -> Cells:
        """The table with its missing cells drawn, for moves that are much cheaper without gaps.

        The drawn cells are part of the state during such moves, and discarded afterwards.
        """
        if cells.complete:
            return cells
        values, where = cells.values.copy(), cells.missing
        values.ravel()[where] = self.simulate(
            state.predictor().ravel()[where], state.precision, rng
        )
        return Cells(values, np.ones_like(values))

    def draw_weights(self, state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
        """W | U, V, X (section 3.1) by the eigenvectors of U'U and V'V.

        The posterior precision theta (V'V x U'U) + phi I is diagonal in their product basis, so
        that the K L x K L matrix is never formed.
        """
        u, v = state.rows.on.astype(float), state.columns.on.astype(float)
        values = self.completed(state, cells, rng).values
        row_values, row_vectors = np.linalg.eigh(u.T @ u)
        column_values, column_vectors = np.linalg.eigh(v.T @ v)
        linear = row_vectors.T @ (u.T @ values @ v) @ column_vectors * state.precision
        precision = np.outer(row_values, column_values).clip(0) * state.precision
        precision += state.weight_scale
        rotated = linear / precision + rng.standard_normal(linear.shape) / np.sqrt(precision)
        return row_vectors @ rotated @ column_vectors.T

    def draw_precision(
        self, state: State, cells: Cells, prior: Gamma, rng: np.random.Generator
    ) -> float:
        """theta | X, U, V, W (section 3.1)."""
        error = (cells.values - state.predictor()) * cells.observed
        shape, rate = prior[0] + 0.5 * cells.n_observed, prior[1] + 0.5 * (error**2).sum()
        return float(rng.standard_gamma(shape) / rate)

    def mean(self, predictor: np.ndarray) -> np.ndarray:
        """Expected value of cells."""
        return predictor

    def simulate(
        self, predictor: np.ndarray, precision: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Cells from the model."""
        return predictor + rng.standard_normal(predictor.shape) / np.sqrt(precision)


class Logistic(_AsObserved, _NormalWeights):
    """Cells zero or one, with log odds u W v'."""

    kind = kernels.LOGISTIC
    table_kind: TableKind = "binary"

    def log_likelihood(self, cells: Cells, predictor: np.ndarray, precision: float) -> np.ndarray:
        """Log probability of every cell; zero where not observed."""
        softplus = np.maximum(predictor, 0) + np.log1p(np.exp(-np.abs(predictor)))
        return (cells.values * predictor - softplus) * cells.observed

    def scan(self, state: State, cells: Cells, on: np.ndarray, rng: np.random.Generator) -> None:
        """Gibbs over every entry of `on` (eqs. 2-5)."""
        kernels.logistic_scan(on, *self._for_scans(state, cells), rng)

    def scan_blocks(
        self, state: State, cells: Cells, on: np.ndarray, size: int, rng: np.random.Generator
    ) -> None:
        """Metropolis-Hastings over `size` entries of each row of `on` at once (section 3.3)."""
        logistic_block_scan(on, *self._for_scans(state, cells), size, rng)

    @staticmethod
    def _for_scans(state: State, cells: Cells) -> tuple[Any, ...]:
        rows, basis = state.rows, state.basis
        return rows.n_fixed, rows.mass, rows.total, cells.observed, basis, cells.values @ basis.T

    def total(self, state: State, cells: Cells) -> float:
        """Log probability of the table."""
        zeros = kernels.logistic_zeros(state.rows.on, cells.observed, state.basis)
        if np.isnan(zeros):
            return float(self.log_likelihood(cells, state.predictor(), 1.0).sum())
        return float(zeros + (state.rows.on * (cells.values @ state.basis.T)).sum())

    def draw_weights(self, state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
        """W | U, V, X given Polya-gamma variables, one per observed cell (Polson et al., 2013)."""
        u, v = state.rows.on.astype(float), state.columns.on.astype(float)
        by_pair = polya_gammas_by_pair(state.rows.on, state.basis, cells.observed, rng)
        precision = weighted_precision(by_pair, v)
        precision[np.diag_indices_from(precision)] += state.weight_scale
        target = cells.values - 0.5 * cells.observed
        return NormalProposal(precision, u.T @ target @ v).draw(rng)

    def mean(self, predictor: np.ndarray) -> np.ndarray:
        """Probability of a one."""
        return expit(predictor)

    def simulate(
        self, predictor: np.ndarray, precision: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Cells from the model."""
        return (rng.random(predictor.shape) < expit(predictor)).astype(float)


class Poisson(_ByPredictor, _AsObserved):
    """Cells are counts with rate u W v'; weights are exponential with rate phi."""

    kind = kernels.POISSON
    table_kind: TableKind = "count"

    def log_likelihood(self, cells: Cells, predictor: np.ndarray, precision: float) -> np.ndarray:
        """Log probability of every cell; zero where not observed."""
        rate = np.maximum(predictor, 1e-300)
        terms = cells.values * np.log(rate) - rate - cells.log_factorials
        return terms * cells.observed

    def scan(self, state: State, cells: Cells, on: np.ndarray, rng: np.random.Generator) -> None:
        """Gibbs over every entry of `on` (eqs. 2-5)."""
        rows, basis = state.rows, state.basis
        predictor, exposure = rows.on.astype(float) @ basis, cells.observed @ basis.T
        kernels.poisson_scan(
            on, rows.n_fixed, rows.mass, rows.total, predictor, cells.values, basis, exposure, rng
        )

    def draw_weights(self, state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
        """W | U, V, X given how each count splits over the pairs of features behind it."""
        u, v = state.rows.on, state.columns.on
        dealt = deal_counts(
            cells.values, u, v, np.ascontiguousarray(state.weights), state.basis, rng
        )
        exposure = u.T.astype(float) @ cells.observed @ v.astype(float)
        return rng.standard_gamma(1.0 + dealt) / (state.weight_scale + exposure)

    def weight_log_prior(self, weights: np.ndarray, scale: float) -> float:
        """Log prior of weights."""
        return float(weights.size * np.log(scale) - scale * weights.sum())

    def prior_weights(
        self, shape: tuple[int, int], scale: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Weights from their prior."""
        return rng.standard_exponential(shape) / scale

    def draw_scale(self, weights: np.ndarray, prior: Gamma, rng: np.random.Generator) -> float:
        """phi | W."""
        return float(rng.standard_gamma(prior[0] + weights.size) / (prior[1] + weights.sum()))

    def mean(self, predictor: np.ndarray) -> np.ndarray:
        """Expected count."""
        return predictor

    def simulate(
        self, predictor: np.ndarray, precision: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Cells from the model."""
        return rng.poisson(predictor).astype(float)


Likelihood = Gaussian | Logistic | Poisson

LIKELIHOODS: dict[str, Likelihood] = {
    "gaussian": Gaussian(),
    "logistic": Logistic(),
    "poisson": Poisson(),
}
