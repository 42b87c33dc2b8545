"""Predictions of draws of binary matrix factorization, for the table and for new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logsumexp

from falsezero.models.bmf.integrated import NormalWeights
from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.state import Cells, State

_SCANS, _BURN_IN, _PATTERNS = 24, 8, 64

_ENUMERABLE = 12
"""Features of a new row whose on/off patterns are all summed over."""

_SAMPLED, _PRIOR_SHARE = 2000, 0.2
"""Patterns drawn for a new row where there are more, and the share of the prior in the proposal."""

_TERMS = 2_000_000


class Draw(NamedTuple):
    """One kept draw, in the sampler's units."""

    chain: int
    row_features: np.ndarray
    column_features: np.ndarray
    weights: np.ndarray
    row_concentration: float
    column_concentration: float
    weight_scale: float
    precision: float
    log_joint: float
    log_likelihood: float
    weight_mean: np.ndarray | None = None
    """Posterior mean of the weights given the rest, where it is known (Gaussian tables)."""

    @classmethod
    def of(cls, state: State, weight_mean: np.ndarray | None = None) -> Draw:
        """What is kept of a state."""
        return cls(
            0,
            state.rows.on,
            state.columns.on,
            state.weights,
            state.rows.concentration,
            state.columns.concentration,
            state.weight_scale,
            state.precision,
            state.log_joint,
            state.log_likelihood,
            weight_mean,
        )

    @property
    def basis(self) -> np.ndarray:
        """W V': what each row feature adds to every column."""
        return self.weights @ self.column_features.T.astype(float)

    def predictor(self, rows: slice = slice(None)) -> np.ndarray:
        """U W V' for some rows."""
        return self.row_features[rows].astype(float) @ self.basis

    def expected_predictor(self, rows: slice = slice(None)) -> np.ndarray:
        """The predictor of some training rows, with weights integrated out where possible."""
        if self.weight_mean is None:
            return self.predictor(rows)
        return self.row_features[rows] @ (self.weight_mean @ self.column_features.T.astype(float))

    def cell_precision(self, observed: np.ndarray | None, rows: slice = slice(None)) -> Any:
        """Precision of cells around the predictor.

        `observed` marks the cells that the weights were fitted to; None means all.
        """
        if self.weight_mean is None:
            return self.precision
        weights = NormalWeights(
            self.row_features, self.column_features, self.precision, self.weight_scale, observed
        )
        return 1 / (1 / self.precision + weights.predictor_variance(rows))


def feature_prior(draw: Draw, n_bias: int, finite: int, beta: float = 1.0) -> np.ndarray:
    """Probability of each feature in a new row; 1 for the bias."""
    n = len(draw.row_features)
    on = draw.row_features.sum(axis=0, dtype=float)
    mass = draw.row_concentration / finite if finite else 0.0
    # A new row might have a known feature that no training row has.
    share = np.maximum(on + mass, 0.5) / (n + beta + mass)
    share[:n_bias] = 1.0
    return share


def new_row_features(
    draw: Draw, cells: Cells, likelihood: Likelihood, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Features of new rows, given a draw: probabilities, and a last sample.

    Gibbs scans start from the pattern of features, among those of training rows, that explains the
    row best. All rows share the same uniforms, so that a row's answer does not depend on the other
    rows.
    """
    basis = draw.basis
    free = np.flatnonzero(prior < 1)
    uniforms = np.random.default_rng(0).random((_SCANS, len(prior)))
    on = _best_pattern(draw, cells, likelihood)
    probability = np.zeros(on.shape)
    predictor = on @ basis
    for scan in range(_SCANS):
        for k in free:
            without = predictor - on[:, [k]] * basis[k]
            gain = likelihood.log_likelihood(cells, without + basis[k], draw.precision)
            gain -= likelihood.log_likelihood(cells, without, draw.precision)
            share = expit(gain.sum(axis=1) + np.log(prior[k] / (1 - prior[k])))
            on[:, k] = uniforms[scan, k] < share
            predictor = without + on[:, [k]] * basis[k]
            if scan >= _BURN_IN:
                probability[:, k] += share / (_SCANS - _BURN_IN)
    probability[:, prior == 1] = 1.0
    return probability, on


def _best_pattern(draw: Draw, cells: Cells, likelihood: Likelihood) -> np.ndarray:
    """The likeliest pattern of each row, among the most common ones of the training rows."""
    patterns, counts = np.unique(draw.row_features, axis=0, return_counts=True)
    patterns = patterns[np.argsort(-counts, kind="stable")[:_PATTERNS]].astype(float)
    terms = [
        likelihood.log_likelihood(cells, predictor, draw.precision).sum(axis=1)
        for predictor in patterns @ draw.basis
    ]
    return patterns[np.argmax(terms, axis=0)]


def new_row_log_density(
    draw: Draw, cells: Cells, likelihood: Likelihood, prior: np.ndarray
) -> np.ndarray:
    """log p(row | draw) of new rows, with their features summed out: a density over rows.

    p(row | draw) = sum_u prod_k pi_k^u_k (1 - pi_k)^(1 - u_k) prod_j p(x_j | u W v_j'), by
    enumeration of all patterns u, or by importance sampling where there are too many.
    """
    free = np.flatnonzero(prior < 1)
    if len(free) > _ENUMERABLE:
        return _sampled_log_density(draw, cells, likelihood, prior)
    total = np.full(len(cells.values), -np.inf)
    log_on, log_off = np.log(prior[free]), np.log1p(-prior[free])
    size = max(1, _TERMS // max(cells.values.size, 1))
    for first in range(0, 2 ** len(free), size):
        numbers = np.arange(first, min(first + size, 2 ** len(free)))
        bits = ((numbers[:, None] >> np.arange(len(free))) & 1).astype(float)
        patterns = np.ones((len(bits), len(prior)))
        patterns[:, free] = bits
        joint = bits @ log_on + (1 - bits) @ log_off
        for predictor, log_p in zip(patterns @ draw.basis, joint, strict=True):
            cell = likelihood.log_likelihood(cells, predictor, draw.precision)
            total = np.logaddexp(total, log_p + cell.sum(axis=1))
    return total


def _sampled_log_density(
    draw: Draw, cells: Cells, likelihood: Likelihood, prior: np.ndarray
) -> np.ndarray:
    """An unbiased estimate: patterns from a row's own probabilities, mixed with the prior.

    All rows share the same uniforms, so that a row's answer does not depend on the other rows.
    """
    probability = new_row_features(draw, cells, likelihood, prior)[0]
    chance = (1 - _PRIOR_SHARE) * probability + _PRIOR_SHARE * prior
    uniforms = np.random.default_rng(1).random((_SAMPLED, len(prior)))
    free = prior < 1
    totals = np.empty(len(cells.values))
    for i, own in enumerate(chance):
        on = np.where(free, uniforms < own, True).astype(float)
        row = Cells(cells.values[[i]], cells.observed[[i]])
        terms = likelihood.log_likelihood(row, on @ draw.basis, draw.precision).sum(axis=1)
        terms += _log_bernoulli(on[:, free], prior[free]) - _log_bernoulli(on[:, free], own[free])
        totals[i] = logsumexp(terms) - np.log(_SAMPLED)
    return totals


def _log_bernoulli(on: np.ndarray, chance: np.ndarray) -> np.ndarray:
    return on @ np.log(chance) + (1 - on) @ np.log1p(-chance)


def row_chunks(
    n_rows: int, n_columns: int, n_draws: int, cells: int = 4_000_000
) -> Iterator[slice]:
    """Cut rows into pieces for which all draws fit into memory."""
    size = max(1, cells // max(1, n_columns * n_draws))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def representative(draws: Sequence[Draw], likelihood: Likelihood) -> int:
    """The draw whose expected table is nearest to the average of all, in squared distance."""
    # One table after the other: all of them at once may take gigabytes.
    mean = np.array(likelihood.mean(draws[0].predictor()))
    for draw in draws[1:]:
        mean += likelihood.mean(draw.predictor())
    mean /= len(draws)
    distance = [((likelihood.mean(draw.predictor()) - mean) ** 2).sum() for draw in draws]
    return int(np.argmin(distance))


def ordered_draw(draw: Draw, n_fixed_rows: int, n_fixed_columns: int) -> Draw:
    """The same draw with its sampled features in order of size, largest first."""
    rows = _by_size(draw.row_features, n_fixed_rows)
    columns = _by_size(draw.column_features, n_fixed_columns)
    return draw._replace(
        row_features=draw.row_features[:, rows],
        column_features=draw.column_features[:, columns],
        weights=draw.weights[np.ix_(rows, columns)],
    )


def _by_size(on: np.ndarray, n_fixed: int) -> np.ndarray:
    size = on.sum(axis=0, dtype=float)
    size[:n_fixed] = np.inf
    return np.argsort(-size, kind="stable")


def aligned_share(draws: Sequence[np.ndarray], reference: np.ndarray) -> np.ndarray:
    """Share of draws in which each item has each feature of a reference draw.

    Features of other draws are matched to the reference by overlap (Jaccard), one to one.
    """
    share = np.zeros(reference.shape)
    target = reference.astype(float)
    for on in draws:
        other = on.astype(float)
        both = target.T @ other
        either = target.sum(axis=0)[:, None] + other.sum(axis=0) - both
        mine, theirs = linear_sum_assignment(-both / np.maximum(either, 1))
        share[:, mine] += other[:, theirs]
    return share / len(draws)


def picture_order(on: np.ndarray) -> np.ndarray:
    """An order of items that keeps those with equal features together, large features first."""
    by_size = on[:, np.argsort(-on.sum(axis=0, dtype=float), kind="stable")]
    return np.lexsort(1 - by_size.T[::-1]) if on.shape[1] else np.arange(len(on))
