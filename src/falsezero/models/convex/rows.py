"""Best weights of rows under given components: concave problems on the simplex, a row at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from falsezero.data.blocks import UNOBSERVED, Block
from falsezero.inference.climb import RowTerms, add_to_diagonal, climb_rows, packed_products
from falsezero.kernels.convex_sparse import list_surface
from falsezero.models.convex.hot import find_hot, listed_cells

ROUNDS = 6
"""How often the sparse solver may update the list of visited zeros; two or three are usual."""

_ROWS_AT_A_TIME = 4096
"""Each row brings a matrix of second derivatives."""


def settled_weights(
    block: Block,
    start: np.ndarray,
    ones: np.ndarray,
    zeros: np.ndarray | None = None,
    share: float = 0.0,
) -> np.ndarray:
    """Weights that maximise a row's log likelihood and `share` times the sum of their logarithms.

    F1 = `ones` and F0 = `zeros` as in `convex_pass`; without `zeros`, F0 = 1 - F1. In double
    precision whatever the table's, because near a maximum single precision cannot tell rows apart.
    """
    ones = ones.astype(float)
    zeros = 1 - ones if zeros is None else zeros.astype(float)
    found = []
    for tile in block.tiles():
        first = tile.start - block.start
        surface = _ExactSurface(tile.codes, ones, zeros, share)
        rows = start[first : first + tile.shape[0]]
        found.append(climb_rows(surface, rows, adds_up=True, is_open=share > 0))
    return np.concatenate(found)


class _ExactSurface:
    """sum_t log(w f_t) + share sum_k log w_k, with f_t the factor of the cell's own value."""

    def __init__(self, codes: np.ndarray, ones: np.ndarray, zeros: np.ndarray, share: float):
        self.codes, self.ones, self.zeros, self.share = codes, ones, zeros, share
        self.of_ones, self.of_zeros = packed_products(ones).T, packed_products(zeros).T

    def __call__(self, rows: np.ndarray, w: np.ndarray) -> RowTerms:
        codes = self.codes[rows]
        is_one, is_zero = codes == 1, codes == 0
        p = np.where(is_one, w @ self.ones, w @ self.zeros)
        inverse = np.where(codes == UNOBSERVED, 0.0, 1 / p)
        value = np.where(codes == UNOBSERVED, 0.0, np.log(p)).sum(axis=1)
        u, v = np.where(is_one, inverse, 0.0), np.where(is_zero, inverse, 0.0)
        gradient = u @ self.ones.T + v @ self.zeros.T
        packed = np.square(u) @ self.of_ones + np.square(v) @ self.of_zeros
        return _with_prior(value, gradient, packed, w, self.share)


def settled_sparse_weights(
    block: Block, local: Any, ones: np.ndarray, others: np.ndarray, share: float
) -> Any:
    """The same for the sparse solver: a row quantity with weights, and the zeros it visits.

    `others` is 1 - F0. Which zeros are visited depends on the weights and vice versa, so
    both are repeated until the lists no longer change.
    """
    columns = np.ascontiguousarray(ones.T), np.ascontiguousarray(others.T)
    for _ in range(ROUNDS):
        hot = find_hot(block, local.weights, others)
        is_same = has_same_hot(local, hot)
        local = local._replace(**hot)
        surface = _SparseSurface(block, local, columns, others, share)
        weights = np.empty(local.weights.shape)
        for first in range(0, len(weights), _ROWS_AT_A_TIME):
            some = slice(first, first + _ROWS_AT_A_TIME)
            here = partial(surface.from_row, first)
            weights[some] = climb_rows(here, local.weights[some], adds_up=True, is_open=share > 0)
        local = local._replace(weights=weights)
        if is_same:
            break
    return local


def has_same_hot(local: Any, hot: dict[str, np.ndarray]) -> bool:
    """Whether the zeros to visit are those that were visited."""
    return all(np.array_equal(getattr(local, name), found) for name, found in hot.items())


class _SparseSurface:
    """The same with plain zeros in second order: ones and hot zeros are visited."""

    def __init__(self, block: Block, local: Any, columns: Any, others: np.ndarray, share: float):
        self.lists = listed_cells(block, local)
        self.columns, self.share = columns, share
        self.linear, self.gram = others.sum(axis=1), others @ others.T
        self.triangle = self.gram[np.triu_indices(len(others))]

    def from_row(self, first: int, rows: np.ndarray, w: np.ndarray) -> RowTerms:
        """The surface of rows counted from `first` on."""
        return self(first + rows, w)

    def __call__(self, rows: np.ndarray, w: np.ndarray) -> RowTerms:
        slope = w @ self.gram
        value = -w @ self.linear - 0.5 * np.einsum("nk,nk->n", w, slope)
        gradient = -self.linear - slope
        packed = np.tile(self.triangle, (len(w), 1))
        for kind, start, index in self.lists:
            list_surface(kind, rows, start, index, w, *self.columns, value, gradient, packed)
        return _with_prior(value, gradient, packed, w, self.share)


def _with_prior(
    value: np.ndarray, gradient: np.ndarray, packed: np.ndarray, w: np.ndarray, share: float
) -> RowTerms:
    if share:
        value = value + share * np.log(w).sum(axis=1)
        gradient = gradient + share / w
        add_to_diagonal(packed, share / np.square(w), w.shape[1])
    return value, gradient, packed
