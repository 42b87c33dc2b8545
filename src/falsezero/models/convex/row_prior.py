"""Row weights that depend on what is known of the rows: elevation, forest cover, age.

The weights of row n have the prior Dirichlet(c m_n) with

    m_n = softmax(B' v_n),                                                              (1)

v_n being the row's variables, the first of them 1: what rows alike in v have in common is in B, and
the row's own deviation is as large as c = K gamma0 is small. A row that nobody looked at has
weights m_n. (c is not learnt here: a factorised posterior would let it grow without end.)

Given the Dirichlet posteriors of the weights, B is learnt by Fisher scoring with a line search.
Statistics only add up over rows, so a direction is found in one iteration, and the next one
evaluates some lengths of it and takes the best, none included: the bound cannot fall. B has
Gaussian priors around 0, the one of the slopes with a learnt width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma, softmax

from falsezero.models.convex.variational import RowCounts, VariationalBayes

LENGTHS = np.array([0.0, 0.02, 0.1, 0.3, 1.0, 2.0])
_INTERCEPT_WIDTH2, _SLOPE_WIDTH2 = 4.0, 1.0
_SMALLEST = 0.3
"""A stride may take a count to no less than this share of what plain steps gave."""


class RowPrior(NamedTuple):
    """B of (1), the direction to search next (0: none), the slopes' squared width, and c."""

    coefficients: np.ndarray
    direction: np.ndarray
    width2: np.ndarray
    total: np.ndarray

    def ahead(self, length: float) -> RowPrior:
        """B so far along the direction."""
        return self._replace(coefficients=self.coefficients + length * self.direction)

    def mean(self, variables: np.ndarray) -> np.ndarray:
        """Prior mean of the weights of some rows, (1)."""
        return np.asarray(softmax(variables @ self.coefficients, axis=1))

    def counts(self, variables: np.ndarray) -> np.ndarray:
        """Dirichlet parameters of some rows before any look."""
        return np.asarray(self.total * self.mean(variables))


class PriorCounts(NamedTuple):
    """Dirichlet parameters of a block's rows, and those of their priors."""

    counts: np.ndarray
    prior: np.ndarray


class RegressedBayes(VariationalBayes):
    """Variational Bayes of the content where every row has a prior of its own."""

    def row_factors(self, local: Any) -> tuple[np.ndarray, float]:
        """exp<log w>, and KL(q(w) || prior) summed over the rows."""
        q, p = local.counts, local.prior
        logs = expected_logs(q)
        divergence = gammaln(q.sum(axis=1)) - gammaln(p.sum(axis=1))
        divergence += (gammaln(p) - gammaln(q) + (q - p) * logs).sum(axis=1)
        return np.maximum(np.exp(logs), self.floor), float(divergence.sum())

    def renew_rows(self, block: Any, local: Any, weights: np.ndarray, seen: Any) -> Any:
        """The prior's counts and the expected cells of each component."""
        return local._replace(counts=local.prior + weights * seen.row_stat)

    def project_rows(self, trial: RowCounts, reference: RowCounts) -> RowCounts:
        """Positive counts with the reference's sum."""
        counts = np.maximum(trial.counts, _SMALLEST * reference.counts)
        counts *= reference.counts.sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
        return trial._replace(counts=counts)


class RowRegression:
    """Learning of B from additive statistics."""

    def __init__(self, n_variables: int, n_components: int, gamma0: float):
        self.shape = (n_variables, n_components)
        self.total = gamma0 * n_components

    def start(self) -> RowPrior:
        """All rows alike."""
        coefficients, width2 = np.zeros(self.shape), np.array(_SLOPE_WIDTH2)
        return RowPrior(coefficients, np.zeros(self.shape), width2, np.array(self.total))

    def statistics(self, prior: RowPrior, variables: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Log densities at some lengths of the direction; gradient and information at B."""
        logs = expected_logs(counts)
        ends = [prior.ahead(length).counts(variables) for length in LENGTHS]
        values = [float(log_density(end, logs).sum()) for end in ends]
        slope, information = _scores(prior, variables, logs)
        return np.concatenate([values, slope.ravel(), information.ravel()])

    def learn(self, vector: np.ndarray, prior: RowPrior) -> RowPrior:
        """The best length of a direction that was evaluated, or the next direction."""
        if prior.direction.any():
            ends = [prior.ahead(length) for length in LENGTHS]
            values = vector[: len(LENGTHS)] - [self.penalty(end) for end in ends]
            best = ends[int(np.argmax(values))]
            still = np.zeros(self.shape)
            return best._replace(direction=still, width2=_width2(best.coefficients))
        size = prior.coefficients.size
        slope = vector[len(LENGTHS) :][:size]
        information = vector[len(LENGTHS) + size :].reshape(size, size)
        precision = self._precision(prior).ravel()
        pull = slope - precision * prior.coefficients.ravel()
        step = np.linalg.solve(information + np.diag(precision), pull)
        return prior._replace(direction=step.reshape(self.shape))

    def penalty(self, prior: RowPrior) -> float:
        """Less the log prior of B and of the slopes' width."""
        slopes, width2 = prior.coefficients[1:], float(prior.width2)
        total = (self._precision(prior) * prior.coefficients**2).sum()
        total += (slopes.size + 1) * np.log(width2) + _SLOPE_WIDTH2 / width2
        return float(0.5 * total)

    def _precision(self, prior: RowPrior) -> np.ndarray:
        each = np.full(self.shape, 1 / float(prior.width2))
        each[0] = 1 / _INTERCEPT_WIDTH2
        return each


def expected_logs(counts: np.ndarray) -> np.ndarray:
    """E[log w] of Dirichlet rows."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))


def log_density(prior: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Log Dirichlet density of each row at these logarithms of its weights."""
    each = gammaln(prior.sum(axis=1)) - gammaln(prior).sum(axis=1)
    return np.asarray(each + ((prior - 1) * logs).sum(axis=1))


def _scores(
    prior: RowPrior, variables: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Fisher information of B, summed over rows."""
    m, alpha = prior.mean(variables), prior.counts(variables)
    g = logs - digamma(alpha)
    slope = variables.T @ (alpha * (g - (m * g).sum(axis=1, keepdims=True)))
    jacobian = alpha[:, :, None] * (np.eye(m.shape[1]) - m[:, None, :])
    inner = np.einsum("nki,nk,nkj->nij", jacobian, polygamma(1, alpha), jacobian, optimize=True)
    information = np.einsum("nd,ne,nij->diej", variables, variables, inner, optimize=True)
    return slope, information.reshape(slope.size, slope.size)


def _width2(coefficients: np.ndarray) -> np.ndarray:
    slopes = coefficients[1:]
    return np.array(((slopes**2).sum() + _SLOPE_WIDTH2) / (slopes.size + 1))
