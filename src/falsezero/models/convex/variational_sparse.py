"""Binary ICA at the cost of the ones: the sums over plain zeros come from Gram matrices.

With W the row weights exp<log a>, s their sum in a row, w = W / s, and g = 1 - exp<log(1 - b)>, a
zero contributes log s + log(1 - p), p = sum_k w_k g_k, to the bound. Where p is small,
log(1 - p) = -(p + p^2/2) up to p^3/3, and sums of p and p^2 over all cells are products of sums and
of the Gram matrices w'w and gg'. Ones, cells not observed and the few zeros with a large p are
visited and put right.

The bound cannot fall: in u = log(1 - p) the series is convex and rises with a slope
c = (1 - p)(1 + p) below one, so it is minorised by c log(sum_k W_k F0_k) + (1 - c) log s, and both
logarithms by Jensen's inequality. A plain zero therefore counts for c times its usual
responsibilities and for (1 - c) w in its row, and for c times its responsibilities in its column.
The prior, the posteriors and their updates are those of `_variational`.

Which zeros are visited is determined again at iterations 1, 2, 4, 8, ...; the bound is redefined
there ("rebased"). The exact bound is computed once, at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference import tree
from falsezero.inference.contract import Point, Run
from falsezero.kernels.convex_sparse import HOT_ZEROS, MISSING, ONES
from falsezero.kernels.row_bayes import settle_sparse
from falsezero.kernels.variational_sparse import visit_cells
from falsezero.models.convex.family import RowWeights, floor_of, normalise_rows
from falsezero.models.convex.hot import find_hot, listed_cells
from falsezero.models.convex.rows import ROUNDS, has_same_hot, settled_sparse_weights
from falsezero.models.convex.series import SeriesSum, series_log_likelihood
from falsezero.models.convex.variational import ROW_TOL, Sources, VariationalBayes, VariationalEM


class SparseWeights(NamedTuple):
    """Row weights of a block, its visited zeros, and how many times they were renewed."""

    weights: np.ndarray
    hot_start: np.ndarray
    hot_columns: np.ndarray
    clock: int


class SparseCounts(NamedTuple):
    """Dirichlet parameters of a block's rows, its visited zeros, and a clock."""

    counts: np.ndarray
    hot_start: np.ndarray
    hot_columns: np.ndarray
    clock: int


class _Statistics(NamedTuple):
    """Additive over blocks. Arrays over columns are columns x components."""

    ones: np.ndarray
    zeros: np.ndarray
    share_sum: np.ndarray
    gram: np.ndarray
    log_bound: float
    divergence: float
    rebased: int


class _SparseZeros:
    """Changes to the steps of binary ICA where plain zeros are not visited."""

    local_type: Any

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        # Differences of sums over all cells and over visited ones need double precision.
        self.dtype, self.floor = np.dtype(float), floor_of(float)

    def rows(self, weights: np.ndarray, blocks: Blocks) -> list[Any]:
        """Row quantities with these weights, and no zeros to visit yet."""
        none = np.empty(0, dtype=np.int32)
        dense = super().rows(weights, blocks)  # type: ignore[misc]
        return [
            self.local_type(part[0].astype(float), np.zeros(len(part[0]) + 1, np.int64), none, 1)
            for part in dense
        ]

    def local_step(
        self: Any, block: Block, local: Any, state: Sources, rng: Any
    ) -> tuple[Any, Any]:
        """Visit the listed cells of a block and renew its rows."""
        weights, divergence = self.row_factors(local)
        total = weights.sum(axis=1, keepdims=True)
        w, g = weights / total, 1.0 - state.zeros
        rebased = local.clock & (local.clock - 1) == 0
        if rebased:
            local = local._replace(**find_hot(block, w, g))
        columns = np.ascontiguousarray(state.ones.T), np.ascontiguousarray(g.T)
        row_count = w * _over_plain_zeros(w, g)
        ones, zeros = np.zeros_like(columns[0]), np.zeros_like(columns[0])
        log_bound = float(block.observed @ np.log(total[:, 0]))
        for kind, start, index in listed_cells(block, local):
            log_bound += visit_cells(kind, start, index, w, *columns, row_count, ones, zeros)
        local = self.renew_rows_from(block, local, np.maximum(row_count, 0.0))
        stats = _Statistics(
            ones, zeros, w.sum(axis=0), w.T @ w, log_bound, divergence, int(rebased)
        )
        return local._replace(clock=local.clock + 1), stats

    def global_step(self: Any, stats: Any, state: Sources, rng: Any) -> Sources:
        """Expected ones and zeros of each component and column, and the posteriors they make."""
        everywhere = stats.share_sum[:, None] + stats.gram @ (1.0 - state.zeros)
        zeros = state.zeros * everywhere + stats.zeros.T
        return self.sources(np.ascontiguousarray(stats.ones.T), np.maximum(zeros, 0.0))

    def objective(self, stats: Any, state: Sources) -> float:
        """The bound with its plain zeros in second order."""
        g = 1.0 - state.zeros
        everywhere = stats.share_sum @ g.sum(axis=1) + 0.5 * np.sum(stats.gram * (g @ g.T))
        return float(stats.log_bound - everywhere - stats.divergence - state.divergence)


class SparseEM(_SparseZeros, VariationalEM):
    """Variational EM of a sparse table."""

    local_type = SparseWeights

    def settle(self, block: Block, local: SparseWeights, state: Sources) -> SparseWeights:
        """Row weights at the maximum of the same surrogate, sources fixed."""
        others = 1.0 - state.zeros
        local = settled_sparse_weights(block, local, state.ones, others, 0.0)
        return local._replace(weights=normalise_rows(local.weights))

    def renew_rows_from(self, block: Block, local: SparseWeights, cells: np.ndarray) -> Any:
        """Eq. 12 from expected counts."""
        seen = block.observed[:, None] > 0
        new = np.where(seen, cells, local.weights)
        return local._replace(weights=new / new.sum(axis=1, keepdims=True))


class SparseBayes(_SparseZeros, VariationalBayes):
    """Variational Bayes of a sparse table."""

    local_type = SparseCounts

    def settle(self, block: Block, local: Any, state: Sources) -> Any:
        """Counts at the best optimum found, sources fixed, until the visited zeros stay put."""
        others = 1.0 - state.zeros
        columns = np.ascontiguousarray(state.ones.T), np.ascontiguousarray(others.T)
        sums = others.sum(axis=1), others @ others.T
        is_rugged = self.is_rugged
        for _ in range(ROUNDS):
            share = self.row_factors(local)[0]
            hot = find_hot(block, share / share.sum(axis=1, keepdims=True), others)
            is_same = has_same_hot(local, hot)
            local = local._replace(**hot, counts=local.counts.copy())
            starts, index = _patterns(block, local)
            most = int(np.sum([np.diff(start) for start in starts], axis=0).max(initial=0))
            settle_sparse(
                starts, index, *columns, *sums, local.counts, self.gamma0, self.floor,
                is_rugged, ROW_TOL, most,
            )  # fmt: skip
            if is_same:
                break
            is_rugged = False
        return local

    def renew_rows_from(self, block: Block, local: SparseCounts, cells: np.ndarray) -> Any:
        """Eq. B.5 from expected counts."""
        return local._replace(counts=self.gamma0 + cells)


def _patterns(block: Block, local: Any) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Ones, visited zeros and cells not observed as CSR patterns of one integer type."""
    found = {kind: (start, index) for kind, start, index in listed_cells(block, local)}
    empty = np.zeros(block.shape[0] + 1), np.empty(0)
    lists = [found.get(kind, empty) for kind in (ONES, HOT_ZEROS, MISSING)]
    starts = tuple(np.asarray(start, np.int64) for start, _ in lists)
    return starts, tuple(np.asarray(index, np.int64) for _, index in lists)


def exact_bound(exact: VariationalEM, blocks: Blocks, point: Point) -> float:
    """The bound with every cell visited, in the precision of the point."""
    exact.dtype = point.state.ones.dtype
    exact.floor = floor_of(exact.dtype)
    pairs = [
        exact.local_step(block, local, point.state, None)
        for block, local in zip(blocks, point.local, strict=True)
    ]
    return exact.objective(tree.total([stats for _, stats in pairs]), point.state)


def series_bound(exact: VariationalEM, blocks: Blocks, point: Point, run: Run) -> SeriesSum:
    """The bound at the cost of the ones, and how far it can be from `exact_bound`."""
    exact.dtype, exact.floor = point.state.ones.dtype, floor_of(point.state.ones.dtype)
    shares, log_sums, divergence = [], 0.0, 0.0
    for block, local in zip(blocks, point.local, strict=True):
        weights, diverged = exact.row_factors(local)
        total = weights.sum(axis=1, keepdims=True)
        log_sums += float(block.observed @ np.log(total[:, 0]))
        divergence += diverged
        shares.append(RowWeights(weights / total))
    state = point.state
    found = series_log_likelihood(blocks, shares, state.ones, 1.0 - state.zeros, run)
    value = found.value + log_sums - divergence - state.divergence
    return SeriesSum(value, found.error)


def _over_plain_zeros(w: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Sum over all columns of (1 - g_k)(1 + p) + p^2, for each row and component."""
    linear, products = g.sum(axis=1), w @ (g @ g.T)
    of_row = g.shape[1] + w @ linear + np.einsum("nk,nk->n", w, products)
    return of_row[:, None] - linear - products
