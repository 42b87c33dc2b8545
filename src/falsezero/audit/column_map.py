"""The map from surprise to probability, learnt from revisits, with an effect for each column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from falsezero.inference.logistic import logistic_loss, newton

__all__ = ["ColumnMap", "fit_column_map"]

_SLOPE_PRECISION = 50.0
"""Prior of the slope: mean 1, standard deviation 0.14."""

_EFFECT_PRECISION = 20.0
"""Prior of a column's effect: mean 0, standard deviation 0.22 in log odds."""

_LEVEL_PRECISION = 1e-6


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
    cells suggests, because the cells of a row are not independent. A column that nobody looked at
    again has effect 0.

    The curvature is diagonal in the effects, so that a step costs as much as one pass over the
    cells, however many columns there are (Schur complement of level and slope).
    """
    design = np.column_stack([np.ones(len(odds)), odds])
    centre = np.array([0.0, 1.0])
    line_precision = np.array([_LEVEL_PRECISION, _SLOPE_PRECISION])

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        line, effects = beta[:2], beta[2:]
        total, p = logistic_loss(design @ line + effects[column], hit)
        away = line_precision @ (line - centre) ** 2 + _EFFECT_PRECISION * effects @ effects
        return total + 0.5 * float(away), p

    def step(beta: np.ndarray, p: np.ndarray) -> np.ndarray:
        line, effects = beta[:2], beta[2:]
        error, spread = p - hit, p * (1 - p)
        slope = design.T @ error + line_precision * (line - centre)
        effect_slope = np.bincount(column, error, n_columns) + _EFFECT_PRECISION * effects
        curvature = (design * spread[:, None]).T @ design + np.diag(line_precision)
        effect_curvature = np.bincount(column, spread, n_columns) + _EFFECT_PRECISION
        mixed = np.array([np.bincount(column, spread * part, n_columns) for part in design.T])
        scaled = mixed / effect_curvature
        turn = np.linalg.solve(curvature - scaled @ mixed.T, slope - scaled @ effect_slope)
        return -np.r_[turn, (effect_slope - turn @ mixed) / effect_curvature]

    rate = (np.sum(hit) + 0.5) / (len(hit) + 1)
    level = float(logit(rate) - np.mean(odds))
    found = newton(np.r_[level, 1.0, np.zeros(n_columns)], loss, step).coefficients
    return ColumnMap(float(found[0]), float(found[1]), found[2:])
