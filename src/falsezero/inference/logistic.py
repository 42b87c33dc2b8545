"""Penalised logistic regression by Newton's method, with steps that never raise the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

__all__ = ["LogisticFit", "fit_logistic_bounded", "logistic_loss", "newton"]

_STEPS = 50
_TOLERANCE = 1e-8


class LogisticFit(NamedTuple):
    """Coefficients, and the penalised loss that they reach."""

    coefficients: np.ndarray
    loss: float


def newton(
    start: np.ndarray,
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    step: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> LogisticFit:
    """Newton's method for a logistic loss; a step is halved until the loss falls.

    Parameters
    ----------
    start : array
    loss : callable
        Penalised loss of some coefficients, and the probabilities that they give.
    step : callable
        The full step from coefficients and their probabilities.
    """
    beta, (reached, p) = start, loss(start)
    for _ in range(_STEPS):
        full, size = step(beta, p), 1.0
        while True:
            new, p_there = loss(beta + size * full)
            if new <= reached or size < 1e-4:
                break
            size /= 2
        if new > reached:
            break
        gain, reached, p = reached - new, new, p_there
        beta = beta + size * full
        if gain < _TOLERANCE * abs(reached):
            break
    return LogisticFit(beta, reached)


def fit_logistic_bounded(
    design: np.ndarray,
    hit: np.ndarray,
    penalty: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    centre: np.ndarray | None = None,
    least: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> LogisticFit:
    """Minimise the logistic loss + (b - centre)' penalty (b - centre) / 2 over b >= least.

    A full step goes to the minimum, within the bounds, of the local quadratic approximation.

    Parameters
    ----------
    design : array of shape (n, m)
        A column of ones is an intercept.
    hit : array of shape (n,)
        Zeros and ones.
    penalty : array of shape (m, m)
        Positive definite in directions that the data may not determine.
    weight : array of shape (n,), optional
        How often each observation counts.
    centre, least, start : array of shape (m,), optional
        By default 0, no bound, and `centre`.

    >>> line = np.column_stack([np.ones(4), [0.0, 1, 2, 3]])
    >>> fit_logistic_bounded(line, np.array([0, 1, 0, 1]), 0.1 * np.eye(2)).coefficients.round(2)
    array([-0.92,  0.69])
    """
    n = design.shape[1]
    centre = np.zeros(n) if centre is None else centre
    least = np.full(n, -np.inf) if least is None else least

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        total, p = logistic_loss(design @ beta, hit, weight)
        return total + 0.5 * float((beta - centre) @ penalty @ (beta - centre)), p

    def step(beta: np.ndarray, p: np.ndarray) -> np.ndarray:
        error, spread = p - hit, p * (1 - p)
        if weight is not None:
            error, spread = weight * error, weight * spread
        slope = design.T @ error + penalty @ (beta - centre)
        curvature = (design * spread[:, None]).T @ design + penalty
        return _bounded_minimum(curvature, slope, least - beta)

    found = newton(np.maximum(centre if start is None else start, least), loss, step)
    return found._replace(coefficients=np.maximum(found.coefficients, least))


def _bounded_minimum(curvature: np.ndarray, slope: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The step d >= least that minimises slope' d + d' curvature d / 2."""
    free = -np.linalg.solve(curvature, slope)
    if (free >= least).all():
        return free
    root = np.linalg.cholesky(curvature).T
    bounds = (least, np.full(len(slope), np.inf))
    return np.asarray(lsq_linear(root, root @ free, bounds, method="bvls").x)


def logistic_loss(
    eta: np.ndarray, hit: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Sum of log(1 + exp(eta)) - hit * eta, and the probabilities, from one exponential per cell.

    >>> logistic_loss(np.zeros(2), np.array([0, 1]))
    (1.3862943611198906, array([0.5, 0.5]))
    """
    small = np.exp(-np.abs(eta))
    p = np.where(eta >= 0, 1.0, small) / (1 + small)
    each = np.maximum(eta, 0) + np.log1p(small) - hit * eta
    return float(each.sum() if weight is None else weight @ each), p
