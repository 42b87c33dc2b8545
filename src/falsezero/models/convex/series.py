"""The likelihood of a sparse table at the cost of its ones, with a bound on what is left out.

For a zero, -log(1 - p) = p + p^2/2 + ... + p^J/J + r with 0 <= r <= p^(J+1) / ((J+1)(1 - p)). With
W and F the factors, the sum of p^j over *all* cells is a product of two Gram matrices, of products
of j components each; p^3 needs pairs against single components, p^4 pairs against pairs. Cells that
are no plain zeros (ones, cells not observed, and hot zeros with p > h) are visited: their powers
are taken back, and their logarithms added as they are. With S_j the sum of p^j over the plain zeros
that remain, the rest is bounded on both sides,

    S_(J+1) / (J+1) <= rest <= h S_J / ((J+1)(1 - h)),    S_(J+1) >= S_J^2 / S_(J-1),

the last by Cauchy and Schwarz. The middle is reported, and half the width as its error. Where that
is more than `GOAL` of the likelihood, h is halved as long as few cells are above it: at most
S_j / h^j of them can be.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from falsezero.backends import map_shards
from falsezero.data.blocks import Block, Blocks
from falsezero.data.row_files import opened
from falsezero.inference.contract import Run
from falsezero.kernels.best_cells import ranked_columns
from falsezero.kernels.series import visited_sums

GOAL = 1e-7
"""Error of the likelihood, relative to it, that is good enough."""

_HOT = 0.15
_COLDEST = 0.01
_GRAM_PRODUCTS = 60_000
"""Multiplications a row that Gram matrices may cost: pairs by pairs up to K = 21, pairs by single
components up to K = 48."""

_ROUNDING = 64 * float(np.finfo(float).eps)
_AT_A_TIME = 4096
_MOST_VISITS = 4.0
"""Hot zeros that may be visited, for each one of the table."""


class SeriesSum(NamedTuple):
    """A log likelihood, and how far it can be from the sum over every cell."""

    value: float
    error: float


def series_log_likelihood(
    blocks: Blocks, local: list[Any], ones: np.ndarray, gaps: np.ndarray, run: Run
) -> SeriesSum:
    """Sum of log(W F1) over ones and of log(1 - W G) over zeros, with its error.

    Parameters
    ----------
    blocks, local : blocks of the table, and row quantities of each with `weights`
        Rows need not add up to one, but W G must stay below it.
    ones, gaps : array of shape (k, n_columns)
        F1, and G = 1 - F0. The same array for Aspect Bernoulli.
    """
    order = _highest_power(len(gaps))
    everywhere = np.zeros(4)
    row_grams = _total(map_shards(run, partial(_row_grams, order), blocks, local))
    for j, (of_rows, of_columns) in enumerate(zip(row_grams, _grams(gaps.T, order), strict=True)):
        everywhere[j] = np.sum(of_rows * of_columns)
    own = np.ascontiguousarray(ones[:, : 0 if ones is gaps else None].T)
    look = _Look(own, np.ascontiguousarray(gaps.T), *ranked_columns(gaps))
    hot, visited = _HOT, _total(map_shards(run, partial(_visit, look, _HOT, 2.0), blocks, local))
    while True:
        rounding = _ROUNDING * (everywhere.sum() + abs(visited[0] + visited[1]))
        plain = np.maximum(everywhere[:order] - visited[2 : 2 + order], 0.0)
        found = _with_bounds(plain, visited[0] + visited[1], hot, rounding)
        colder = hot / 2
        most = min(plain[j] / colder ** (j + 1) for j in range(order))
        affordable = visited[6] + most <= _MOST_VISITS * (blocks.nnz + blocks.shape[0])
        if found.error <= GOAL * abs(found.value) or colder < _COLDEST or not affordable:
            return found
        visited = visited + _total(
            map_shards(run, partial(_visit, look, colder, hot), blocks, local)
        )
        hot = colder


class _Look(NamedTuple):
    """What a search for hot zeros needs of the components; columns x components first."""

    ones: np.ndarray
    """Empty where they are the gaps."""
    gaps: np.ndarray
    order: np.ndarray
    ranked: np.ndarray


def _with_bounds(plain: np.ndarray, logarithms: float, hot: float, rounding: float) -> SeriesSum:
    """The series over plain zeros, the middle of what its rest can be, and half the width."""
    order = len(plain)
    series = float(np.sum(plain / np.arange(1, order + 1)))
    next_power = plain[-1] ** 2 / plain[-2] if plain[-2] > 0 else 0.0
    low = min(next_power, hot * plain[-1]) / (order + 1)
    high = hot * plain[-1] / ((order + 1) * (1 - hot))
    value, error = logarithms - series - (low + high) / 2, (high - low) / 2
    return SeriesSum(float(value), float(error + rounding))


def _highest_power(n_components: int) -> int:
    pairs = n_components * (n_components + 1) // 2
    if pairs * pairs <= _GRAM_PRODUCTS:
        return 4
    return 3 if pairs * n_components <= _GRAM_PRODUCTS else 2


def _row_grams(order: int, block: Block, local: Any) -> list[np.ndarray]:
    return _grams(opened(local).weights, order)


def _grams(factors: np.ndarray, order: int) -> list[np.ndarray]:
    """Sums over the rows of a matrix of its j-fold products, j = 1 ... order.

    A pair of two different components stands for both its orders, so it counts twice: the root of
    two on either side of a product of Gram matrices.
    """
    k = factors.shape[1]
    left, right = np.array(list(combinations_with_replacement(range(k), 2))).T
    twice = np.where(left == right, 1.0, np.sqrt(2.0))
    total: Any = None
    for start in range(0, max(len(factors), 1), _AT_A_TIME):
        some = factors[start : start + _AT_A_TIME].astype(float)
        parts = [some.sum(axis=0), some.T @ some]
        if order > 2:
            pairs = some[:, left] * some[:, right] * twice
            parts.append(pairs.T @ some)
        if order > 3:
            parts.append(pairs.T @ pairs)
        total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
    return total


def _visit(look: _Look, hot: float, first_hot: float, block: Block, local: Any) -> Any:
    weights, ones, missing = opened(local).weights, block.csr, block.missing_csr
    holes = (np.zeros(len(weights) + 1, np.int64), np.empty(0, ones.indices.dtype))
    if missing is not None:
        holes = missing.indptr.astype(np.int64), missing.indices.astype(ones.indices.dtype)
    start = ones.indptr.astype(np.int64)
    return visited_sums(weights, *look, start, ones.indices, *holes, hot, first_hot)


def _total(parts: list[Any]) -> Any:
    """Sum over blocks of arrays, or of lists of arrays."""
    if isinstance(parts[0], list):
        return [sum(each[1:], start=each[0]) for each in zip(*parts, strict=True)]
    return sum(parts[1:], start=parts[0])
