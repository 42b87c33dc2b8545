"""Sparse tables of any size, drawn at the cost of their ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["SparseSimulated", "make_sparse_aspect_bernoulli"]

_DRAWS_AT_A_TIME = 4_000_000


class SparseSimulated(NamedTuple):
    """A sparse table and the truth behind it, row weights (rows x k) and components (k x columns).

    The values are a plain `csr_array` in single precision: no labels, no copies.
    """

    values: sparse.csr_array
    weights: NDArray[np.float32]
    components: NDArray[np.float64]


def make_sparse_aspect_bernoulli(
    n_rows: int = 10_000,
    n_columns: int = 2_000,
    n_components: int = 20,
    *,
    ones_per_row: float = 16.0,
    concentration: float = 0.2,
    random_state: Any = None,
) -> SparseSimulated:
    """Draw a large table with few ones, without a pass over its cells.

    A row makes a Poisson number of picks, about `ones_per_row`; each picks a component by the row's
    weights (Dirichlet with `concentration`) and then a column, popular ones more often (their
    popularity falls with the power 3/4 of their rank). A cell picked at least once is one, so
    that p = 1 - exp(-s_n . r_t) with r the rates of the components: where p is small, the Aspect
    Bernoulli model; `components` holds 1 - exp(-r).

    >>> table, weights, components = make_sparse_aspect_bernoulli(500, 300, 3, random_state=0)
    >>> table.shape, weights.shape, components.shape, 10 < table.nnz / 500 < 16
    ((500, 300), (500, 3), (3, 300), True)
    """
    rng = np.random.default_rng(random_state)
    shares = rng.gamma(0.15, size=(n_components, n_columns)) + 1e-4
    shares /= (1.0 + rng.permutation(n_columns)) ** 0.75
    shares /= shares.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.full(n_components, concentration), size=n_rows).astype(np.float32)
    parts = list(_drawn(weights, shares, ones_per_row, rng))
    start = np.concatenate([np.zeros(1, np.int64), *(counts for counts, _ in parts)]).cumsum()
    columns = np.concatenate([columns for _, columns in parts])
    ones = np.ones(len(columns), dtype=np.float32)
    index = np.int32 if len(columns) < 2**31 else np.int64
    values = sparse.csr_array(
        (ones, columns.astype(index, copy=False), start.astype(index)), shape=(n_rows, n_columns)
    )
    return SparseSimulated(values, weights, -np.expm1(-ones_per_row * shares))


def _drawn(
    weights: NDArray[Any], shares: NDArray[Any], mean: float, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Ones in each row and the columns they are in, some rows at a time."""
    n_components, n_columns = shares.shape
    edges = _stacked(shares)
    step = max(1, int(_DRAWS_AT_A_TIME / max(mean, 1.0)))
    for start in range(0, len(weights), step):
        some = weights[start : start + step].astype(float)
        picks = rng.poisson(mean, size=len(some))
        rows = np.repeat(np.arange(len(some)), picks)
        components = np.searchsorted(_stacked(some), rows + rng.random(len(rows))) % n_components
        columns = np.searchsorted(edges, components + rng.random(len(rows))) % n_columns
        cells = np.unique(rows * n_columns + columns)
        found, columns = np.divmod(cells, n_columns)
        yield np.bincount(found, minlength=len(some)), columns.astype(np.int32)


def _stacked(shares: NDArray[Any]) -> NDArray[np.float64]:
    """Cumulative shares of row i in (i, i + 1], so that one sorted search serves all rows."""
    edges = np.cumsum(shares, axis=1)
    edges /= edges[:, -1:]
    edges += np.arange(len(edges))[:, None]
    return edges.ravel()
