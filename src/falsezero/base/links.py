"""From row weights and components to the expected table: one formula for each link."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

__all__ = ["LINKS", "Link"]


class Link(NamedTuple):
    """How weights and components make a cell.

    `expected` takes row weights (rows x components), components (components x columns) and an
    offset for each column, and returns rows x columns. Where `weights_compete`, the weight of a
    removed component is shared out among the others; elsewhere its contribution is just dropped.
    """

    expected: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    weights_compete: bool


def _convex(weights: np.ndarray, components: np.ndarray, offset: np.ndarray) -> np.ndarray:
    expected: np.ndarray = np.clip(weights @ components, 0, 1)
    return expected


def _linear(weights: np.ndarray, components: np.ndarray, offset: np.ndarray) -> np.ndarray:
    expected: np.ndarray = weights @ components + offset
    return expected


def _noisy_or(weights: np.ndarray, components: np.ndarray, offset: np.ndarray) -> np.ndarray:
    silent = np.broadcast_to(np.exp(-offset), (len(weights), len(offset))).copy()
    for k, loading in enumerate(components):
        silent *= 1 - np.multiply.outer(weights[:, k], loading)
    expected: np.ndarray = np.clip(1 - silent, 0, 1)
    return expected


def _logistic(weights: np.ndarray, components: np.ndarray, offset: np.ndarray) -> np.ndarray:
    expected: np.ndarray = expit(weights @ components + offset)
    return expected


def _tanh(weights: np.ndarray, components: np.ndarray, offset: np.ndarray) -> np.ndarray:
    expected: np.ndarray = np.tanh(weights @ components / 2)
    return expected


LINKS = {
    "convex": Link(_convex, weights_compete=True),
    "linear": Link(_linear, weights_compete=True),
    "noisy-or": Link(_noisy_or, weights_compete=False),
    "logistic": Link(_logistic, weights_compete=False),
    "tanh": Link(_tanh, weights_compete=False),
}
"""convex: sum_k w_k a_k. linear: the same plus an offset, for rates. noisy-or: 1 - exp(-offset)
prod_k (1 - w_k p_k). logistic: 1 / (1 + exp(-sum_k w_k v_k - offset)). tanh: tanh(sum_k w_k h_k /
2), which is the logistic curve from 0 on, stretched to [0, 1)."""
