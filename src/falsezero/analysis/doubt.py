"""How doubtful a cell is, given which components are noise: the only place of this formula."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Doubt", "doubt_of", "judge"]


class Doubt(NamedTuple):
    """How doubtful one cell is, or each of many, and why."""

    probability: np.ndarray
    """That the cell is wrong: noise made it, and the content would have made the other value."""
    content: np.ndarray
    """Probability of a one by the components kept, p."""
    noise: np.ndarray
    """Posterior probability that a removed component made the value, q."""


def judge(content: Any, removed: Any, everything: Any, value: Any, floor: float = 0.0) -> Doubt:
    """Probability that a cell is wrong: q p for a zero, q (1 - p) for a one.

    With w the weights of a row, kappa_k = P(u|k) for each component, and b_k = a_k for a one and
    1 - a_k for a zero, `everything` is sum_k w_k b_k, `removed` is sum_k w_k (1 - kappa_k) b_k and
    q is their quotient (Bingham et al., eq. 4). `value` is 0 or 1, or one of these for each cell.

    >>> judge(content=0.8, removed=0.3, everything=0.6, value=0).probability
    np.float64(0.4)
    """
    share = removed / np.maximum(everything, max(floor, np.finfo(float).tiny))
    noise = np.clip(share, 0.0, 1.0)
    return Doubt(noise * np.where(value, 1 - content, content), content, noise)


def doubt_of(model: Any, weights: np.ndarray, keep: np.ndarray, value: int) -> Doubt:
    """The doubt of every cell of some rows, as if all held this value."""
    content = model._expected(model.reweigh(weights, keep))
    makes = model.components_ if value else 1 - model.components_
    return judge(content, (weights * (1 - keep)) @ makes, weights @ makes, value)
