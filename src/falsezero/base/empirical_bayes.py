"""Scores and samples of new rows, for models without a distribution of row weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from falsezero.base.estimator import spawn_seeds
from falsezero.data.blocks import Block
from falsezero.data.numbers import checked_count

_ATOMS = 2000
_FLOOR = 1e-12
_CELLS_AT_A_TIME = 4_000_000
_CELLS_KEPT = 40_000_000
"""Most log odds kept in memory; beyond this they are recomputed as needed."""

_ROWS_AT_A_TIME = 4096


class EmpiricalBayes:
    """`score_samples` and `sample` from `row_weights_` and `_expected`."""

    def score_samples(self: Any, X: Any) -> np.ndarray:
        """Empirical Bayes log likelihood of each row (Bingham et al., eqs. 21-24).

        The row's weights are integrated over their learnt distribution where the model has one, or
        over the weights of the training rows (a fixed draw of at most 2000 of them). Unlike a
        likelihood with the row's own best weights, it can be compared between numbers of
        components. Cells not observed are left out.
        """
        blocks = self._blocks(X, reset=False)
        weights, shares = self._row_prior()
        weights, shares = weights[shares > 0], shares[shares > 0]
        n_columns = blocks.shape[1]
        step = max(1, _CELLS_AT_A_TIME // len(weights))
        slices = [(i, min(i + step, n_columns)) for i in range(0, n_columns, step)]
        log_zeros = partial(self._log_zeros, weights)
        log_odds: Any = partial(self._log_odds, weights)
        if len(weights) * n_columns <= _CELLS_KEPT:
            log_odds = cache(log_odds)
        base = sum(log_zeros(*some).sum(axis=1) for some in slices)
        scores = [
            _log_mean_exp(base, _contrast(block, rows, log_odds, log_zeros, slices), shares)
            for block in blocks
            for rows in _row_runs(block)
        ]
        found: np.ndarray = np.concatenate(scores)
        # The score of a mostly missing row may be a rounding error above zero.
        np.minimum(found, 0.0, out=found)
        return found

    def _log_zeros(self: Any, atoms: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Log probability of a zero, for each atom and some columns.

        Always in double precision: scores of mostly missing rows are small differences of sums.
        """
        expected = self._expected_columns(atoms, slice(start, stop)).astype(float)
        return np.asarray(np.log(np.maximum(1 - expected, _FLOOR)))

    def _log_odds(self: Any, atoms: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Log odds of a one, some columns by all atoms, in the order that sparse products read."""
        expected = self._expected_columns(atoms, slice(start, stop)).astype(float)
        log_zero = np.log(np.maximum(1 - expected, _FLOOR))
        np.log(np.maximum(expected, _FLOOR), out=expected)
        return np.ascontiguousarray((expected - log_zero).T)

    def _row_prior(self: Any) -> tuple[np.ndarray, np.ndarray]:
        """Possible row weights and their probabilities: those of the training rows."""
        weights = self.row_weights_
        if len(weights) > _ATOMS:
            picked = np.random.default_rng(0).choice(len(weights), _ATOMS, replace=False)
            weights = weights[picked]
        return weights, np.full(len(weights), 1.0 / len(weights))

    def sample(self: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model, with weights from their learnt or empirical distribution."""
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        weights, shares = self._row_prior()
        rows = rng.choice(len(weights), n_samples, p=shares / shares.sum(dtype=float))
        expected = self._expected(weights[rows])
        drawn: np.ndarray = (rng.random(expected.shape) < expected).astype(float)
        return drawn


def _contrast(
    block: Block,
    rows: slice,
    log_odds: Callable[[int, int], np.ndarray],
    log_zeros: Callable[[int, int], np.ndarray],
    slices: list[tuple[int, int]],
) -> np.ndarray:
    """Change of an all-zero row's log likelihood by its ones and unobserved cells."""
    values: Any = block.values[rows]
    missing = None if block.missing is None else block.missing[rows].astype(float)
    total: Any = 0.0
    for start, stop in slices:
        total += np.asarray(values[:, start:stop] @ log_odds(start, stop))
        if missing is not None:
            total -= np.asarray(missing[:, start:stop] @ log_zeros(start, stop).T)
    return np.asarray(total)


def _log_mean_exp(base: np.ndarray, contrast: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """log sum_i share_i exp(base_i + contrast_ni) for each row; overwrites `contrast`."""
    contrast += base
    largest = contrast.max(axis=1)
    contrast -= largest[:, None]
    np.exp(contrast, out=contrast)
    return np.asarray(largest + np.log(contrast @ shares))


def _row_runs(block: Block) -> Iterator[slice]:
    """Chunks of a few thousand rows: each row needs a number for every atom."""
    for start in range(0, block.shape[0], _ROWS_AT_A_TIME):
        yield slice(start, min(start + _ROWS_AT_A_TIME, block.shape[0]))
