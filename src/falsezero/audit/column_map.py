"""The map from surprise to probability that revisits teach, with an effect for each column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

__all__ = ["ColumnMap", "fit_column_map"]

_SLOPE_PRECISION = 50.0
"""Prior of the slope: mean 1, standard deviation 0.14."""

_EFFECT_PRECISION = 20.0
"""Prior of a column's effect: mean 0, standard deviation 0.22 in log odds."""

_LEVEL_PRECISION = 1e-6
_STEPS = 50


class ColumnMap(NamedTuple):
    """logit again = level + slope * logit(expected) + effect of the column."""

    level: float
    slope: float
    effects: np.ndarray

    def __call__(self, odds: np.ndarray, column: np.ndarray | slice) -> np.ndarray:
        """Probabilities of cells with these log odds in these columns."""
        return np.asarray(expit(self.level + self.slope * odds + self.effects[column]))


def fit_column_map(
    odds: np.ndarray, hit: np.ndarray, column: np.ndarray, n_columns: int
) -> ColumnMap:
    """The most probable map, given which cells became ones, by Newton's method.

    Priors hold the slope near 1 and the columns' effects near 0, more firmly than the number of
    cells suggests, because the cells of a row are no independent witnesses. A column that nobody
    looked at again has effect 0.

    The curvature is diagonal in the effects, so that a step costs as much as one pass over the
    cells, however many columns there are (Schur complement of level and slope).
    """
    prior = np.array([_LEVEL_PRECISION, _SLOPE_PRECISION])
    design = np.column_stack([np.ones(len(odds)), odds])

    def loss(line: np.ndarray, effects: np.ndarray) -> float:
        eta = design @ line + effects[column]
        away = line - [0, 1]
        penalty = prior @ away**2 + _EFFECT_PRECISION * effects @ effects
        return float((np.logaddexp(0, eta) - hit * eta).sum() + 0.5 * penalty)

    rate = (np.sum(hit) + 0.5) / (len(hit) + 1)
    line = np.array([float(logit(rate) - np.mean(odds)), 1.0])
    effects = np.zeros(n_columns)
    reached = loss(line, effects)
    for _ in range(_STEPS):
        p = expit(design @ line + effects[column])
        error, spread = p - hit, p * (1 - p)
        down = np.bincount(column, error, n_columns) + _EFFECT_PRECISION * effects
        own = np.bincount(column, spread, n_columns) + _EFFECT_PRECISION
        mixed = np.array([np.bincount(column, spread * part, n_columns) for part in design.T])
        curvature = (design * spread[:, None]).T @ design + np.diag(prior)
        slope = design.T @ error + prior * (line - [0, 1])
        step = np.linalg.solve(curvature - (mixed / own) @ mixed.T, slope - mixed @ (down / own))
        turn = (down - step @ mixed) / own
        size = 1.0
        while (new := loss(line - size * step, effects - size * turn)) > reached and size > 1e-4:
            size /= 2
        if new > reached:
            break
        line, effects = line - size * step, effects - size * turn
        gain, reached = reached - new, new
        if gain < 1e-9 * abs(reached):
            break
    return ColumnMap(float(line[0]), float(line[1]), effects)
