"""Logistic regression with few coefficients, bounded from below, by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

__all__ = ["LogisticFit", "fit_logistic_bounded"]

_STEPS = 50


class LogisticFit(NamedTuple):
    """Coefficients, and the penalised loss that they reach."""

    coefficients: np.ndarray
    loss: float


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

    Newton steps: the quadratic that touches the loss is minimised within the bounds, and the step
    there is halved until the loss falls.

    Parameters
    ----------
    design : array of shape (n, m)
        A column of ones is an intercept.
    hit : array of shape (n,)
        Zeros and ones.
    penalty : array of shape (m, m)
        Positive definite on whatever the data may leave open.
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
    beta = np.maximum(centre if start is None else start, least)
    loss, p = _loss(design, hit, weight, penalty, centre, beta)
    for _ in range(_STEPS):
        error, spread = p - hit, p * (1 - p)
        if weight is not None:
            error, spread = weight * error, weight * spread
        slope = design.T @ error + penalty @ (beta - centre)
        curvature = (design * spread[:, None]).T @ design + penalty
        step = _bounded_minimum(curvature, slope, least - beta)
        size = 1.0
        while True:
            reached, p_there = _loss(design, hit, weight, penalty, centre, beta + size * step)
            if reached <= loss or size < 1e-4:
                break
            size /= 2
        if reached > loss:
            break
        gain, loss, p = loss - reached, reached, p_there
        beta = np.maximum(beta + size * step, least)
        if gain < 1e-8 * abs(loss):
            break
    return LogisticFit(beta, loss)


def _bounded_minimum(curvature: np.ndarray, slope: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The step d >= least that minimises slope' d + d' curvature d / 2."""
    free = -np.linalg.solve(curvature, slope)
    if (free >= least).all():
        return free
    root = np.linalg.cholesky(curvature).T
    bounds = (least, np.full(len(slope), np.inf))
    return np.asarray(lsq_linear(root, root @ free, bounds, method="bvls").x)


def _loss(
    design: np.ndarray,
    hit: np.ndarray,
    weight: np.ndarray | None,
    penalty: np.ndarray,
    centre: np.ndarray,
    beta: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Penalised loss and probabilities, from one exponential a cell."""
    eta = design @ beta
    small = np.exp(-np.abs(eta))
    p = np.where(eta >= 0, 1.0, small) / (1 + small)
    each = np.maximum(eta, 0) + np.log1p(small) - hit * eta
    total = each.sum() if weight is None else weight @ each
    away = beta - centre
    return float(total + 0.5 * away @ penalty @ away), p
