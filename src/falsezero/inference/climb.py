"""Newton's method on many small concave problems at once: the optimal weights of each row.

With the components fixed, the rows of a model are independent problems, concave ones in most
models. Each row is optimised until it has converged and is then left alone, so that its answer
does not depend on which other rows are in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from falsezero.kernels.row_newton import newton_directions

RowTerms = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Value, gradient and minus the second derivatives (upper triangles) of some rows."""

Surface = Callable[[np.ndarray, np.ndarray], RowTerms]
"""The terms of some rows, given their positions and weights."""

ROW_GAIN = 1e-10
"""A row has converged when the next Newton step promises a gain below this, in nats."""

_MOST_STEPS = 200
_ENOUGH = 1e-4
_SHORTEST = 1e-12


def climb_rows(
    surface: Surface,
    start: np.ndarray,
    *,
    adds_up: bool = False,
    low: float | None = 0.0,
    is_open: bool = False,
    gain: float = ROW_GAIN,
) -> np.ndarray:
    """Weights that maximise a concave function in each row, from `start`.

    Parameters
    ----------
    surface : callable
        See `Surface`.
    start : array (rows, components)
        Initial weights.
    adds_up : bool
        Whether the sum of a row's weights is fixed (weights on the simplex).
    low : float or None
        Smallest weight; None for any real number.
    is_open : bool
        Whether the function falls to minus infinity at `low`, so that no step may reach it.
    gain : float
        Rows stop when the next step promises less.
    """
    weights = np.array(start, dtype=float)
    active = np.arange(len(weights))
    step = np.zeros_like(weights)
    promised = np.zeros(len(weights))
    value, gradient, packed = surface(active, weights)
    is_new = np.ones(len(weights), dtype=bool)
    for _ in range(_MOST_STEPS):
        here = weights[active]
        if is_new.any():
            slope, room = gradient[is_new], _room(here[is_new], low, is_open)
            found = newton_directions(room, slope, packed[is_new], adds_up)
            step[is_new], promised[is_new] = found, (slope * found).sum(axis=1)
        # Relative to the weights, because near a bound log p is steep and steps start tiny.
        keep = (promised > gain) & (np.abs(step) > _SHORTEST * np.abs(here)).any(axis=1)
        active, here, value, gradient, packed, step, promised = (
            part[keep] for part in (active, here, value, gradient, packed, step, promised)
        )
        if not len(active):
            break
        trial = here + step if low is None else np.maximum(here + step, low)
        new_value, new_gradient, new_packed = surface(active, trial)
        # Gains below about 1e-12 of the value are lost in rounding.
        slack = 1e-12 * (1 + np.abs(value))
        is_new = new_value >= value + _ENOUGH * promised - slack
        weights[active[is_new]] = trial[is_new]
        value = np.where(is_new, new_value, value)
        gradient[is_new], packed[is_new] = new_gradient[is_new], new_packed[is_new]
        step[~is_new] *= 0.5
        promised[~is_new] *= 0.5
    return weights


def _room(weights: np.ndarray, low: float | None, is_open: bool) -> np.ndarray:
    """Lower bound on the step of each weight (zero or negative)."""
    if low is None:
        return np.full_like(weights, -np.inf)
    room: np.ndarray = low - weights
    return 0.9 * room if is_open else room


def packed_products(columns: np.ndarray) -> np.ndarray:
    """Products of all pairs of rows of a matrix, in the order of the upper triangle."""
    first, second = np.triu_indices(len(columns))
    return columns[first] * columns[second]


def add_to_diagonal(packed: np.ndarray, values: Any, n_components: int) -> None:
    """Add to the diagonals of packed upper triangles, in place."""
    sizes = np.arange(n_components, 0, -1)
    packed[:, np.concatenate([[0], np.cumsum(sizes)[:-1]])] += values
