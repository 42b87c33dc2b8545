"""Finds hidden on purpose, and the weights that find them again.

Hide a share h of the ones of a table and fit models to what is left. A cell that would hold a one
with probability p is then, given that it shows a zero, a hidden find with odds h p / (1 - p). So
the log odds of "hidden" among the zeros are log h + logit p, and a logistic regression of "hidden"
on the models' log odds gives, without log h, a calibrated logit p for a cell like this one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logit

from falsezero.inference.logistic import fit_logistic_bounded
from falsezero.models.average.in_files import TableInFiles

__all__ = [
    "Stack",
    "StackingTrial",
    "clipped_logit",
    "cross_fit",
    "deal_ones",
    "fit_logistic",
    "hide_entries",
    "hide_ones",
    "learn",
    "pick_ones_by_row",
    "smoothed_column_rates",
]

FLOOR = 1e-4
_FOLDS = 3
_LEVEL_RIDGE = 1e-3


class StackingTrial(NamedTuple):
    """One trial: ones hidden in a table, and the members' log odds for a sample of its zeros."""

    scheme: str
    share: float
    """Share of the ones that were hidden."""
    rows: np.ndarray
    columns: np.ndarray
    hidden: np.ndarray
    """Whether the zero is a hidden one."""
    weight: np.ndarray
    """How many zeros of the table each stands for."""
    features: np.ndarray
    """Log odds, cells x members."""
    n_tried: int | None = None
    """Rows that the zeros stand for, where they are not those of the cells."""


class Stack(NamedTuple):
    """logit p = intercept + features @ weights, for a cell taken as zero."""

    intercept: float
    weights: np.ndarray

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        """Log odds of a one."""
        return self.intercept + features @ self.weights


def deal_ones(
    values: sparse.csr_array, share: float, n_trials: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Which stored entries each trial hides: a share of the ones, dealt out like folds.

    As long as there are ones left, no one is hidden twice: with a share of 1/10, ten trials hide
    every one exactly once.
    """
    place = rng.random(values.nnz)
    starts = share * np.arange(n_trials)
    return [((place - start) % 1 < share) & (values.data == 1) for start in starts]


def pick_ones_by_row(
    values: sparse.csr_array, share: float, rng: np.random.Generator
) -> np.ndarray:
    """Stored entries to hide if each row loses ones at a rate from Uniform[0, 2 share]."""
    n_rows = values.shape[0]
    rates = np.repeat(rng.uniform(0, 2 * share, n_rows), np.diff(values.indptr))
    return np.asarray((rng.random(values.nnz) < rates) & (values.data == 1))


def hide_ones(
    values: sparse.csr_array, scheme: str, share: float, rng: np.random.Generator
) -> tuple[sparse.csr_array, np.ndarray]:
    """Hide a share of the ones once, each alike ("cells") or more in some rows ("rows").

    Returns the spoilt table, and which stored entries were hidden.
    """
    if scheme == "cells":
        (hidden,) = deal_ones(values, share, 1, rng)
    else:
        hidden = pick_ones_by_row(values, share, rng)
    return hide_entries(values, hidden), hidden


def hide_entries(values: sparse.csr_array, hidden: np.ndarray) -> sparse.csr_array:
    """A copy of the table with some of its stored entries turned into zeros."""
    spoilt = values.copy()
    spoilt.data[hidden] = 0
    spoilt.eliminate_zeros()
    return spoilt


def clipped_logit(p: np.ndarray) -> np.ndarray:
    """Log odds of probabilities kept away from 0 and 1.

    >>> clipped_logit(np.array([0.0, 0.5])).round(2)
    array([-9.21,  0.  ])
    """
    return np.asarray(logit(np.clip(p, FLOOR, 1 - FLOOR)))


def smoothed_column_rates(values: Any) -> np.ndarray:
    """Share of ones among the observed cells of each column, drawn a little to one half."""
    if isinstance(values, TableInFiles):
        ones, missing = values.column_ones, values.column_missing
    else:
        ones = np.bincount(values.indices, values.data == 1, values.shape[1])
        missing = np.bincount(values.indices, np.isnan(values.data), values.shape[1])
    rates: np.ndarray = (ones + 0.5) / (values.shape[0] - missing + 1)
    return rates


def fit_logistic(
    features: np.ndarray, hit: np.ndarray, weight: np.ndarray, ridge: float
) -> tuple[float, np.ndarray]:
    """Intercept and weights of a ridge logistic regression on standardised features."""
    mean = np.average(features, axis=0, weights=weight)
    spread = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weight)) + 1e-9
    design = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    penalty = np.diag(np.r_[1e-6, np.full(features.shape[1], ridge)])
    level = clipped_logit(np.average(hit, weights=weight))
    start = np.r_[level, np.zeros(features.shape[1])]
    beta = fit_logistic_bounded(design, hit, penalty, weight=weight, start=start).coefficients
    weights = beta[1:] / spread
    return float(beta[0] - mean @ weights), weights


def _joined(
    draws: list[StackingTrial], rows_kept: np.ndarray | None, which: Any
) -> tuple[Any, ...]:
    parts = []
    for draw in draws:
        kept = slice(None) if rows_kept is None else rows_kept[draw.rows]
        parts.append((draw.features[kept][:, which], draw.hidden[kept], draw.weight[kept]))
    x, y, w = (np.concatenate(part) for part in zip(*parts, strict=True))
    return x.astype(float), y.astype(float), w


def learn(
    draws: list[StackingTrial],
    ridge: float,
    rows: np.ndarray | None = None,
    which: Any = slice(None),
) -> Stack:
    """Weights of the members from the zeros of the trials (of the masked `rows` only).

    Only ones hidden one by one have odds of "hidden" that are known exactly, so trials by row are
    left aside; weights learnt from them too put losses by row in no better order. The ridge counts
    once for each trial: trials look at the same zeros, so ten of them do not make the members ten
    times easier to tell apart.
    """
    used = [draw for draw in draws if draw.scheme == "cells"] or draws
    x, y, w = _joined(used, rows, which)
    if not y.any():
        used = draws
        x, y, w = _joined(used, rows, which)
    intercept, weights = fit_logistic(x, y, w, len(used) * ridge)
    # The ridge draws the weights together and, as it should not, all of them to zero.
    level, slope = fit_logistic((intercept + x @ weights)[:, None], y, w, _LEVEL_RIDGE)
    return Stack(level + slope[0] * intercept - _log_share(used), slope[0] * weights)


def _log_share(draws: list[StackingTrial]) -> float:
    return float(np.log(np.mean([draw.share for draw in draws])))


def cross_fit(
    draws: list[StackingTrial], ridge: float, n_rows: int, seed: Any, which: Any = slice(None)
) -> list[np.ndarray]:
    """Log odds of a one for the zeros of every trial, by weights learnt in other rows."""
    fold = np.random.default_rng(seed).permutation(n_rows) % _FOLDS
    found = [np.zeros(len(draw.hidden)) for draw in draws]
    for i in range(_FOLDS):
        stack = learn(draws, ridge, fold != i, which)
        for draw, odds in zip(draws, found, strict=True):
            inside = fold[draw.rows] == i
            odds[inside] = stack.log_odds(draw.features[inside][:, which])
    return found
