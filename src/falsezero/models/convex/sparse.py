"""The sparse solver of the convex Bernoulli family: its cost grows with the ones, not the cells.

Away from the ones p is small, and -log(1 - p) = p + p^2/2 up to p^3/3. The sum of p and of p^2 over
*all* cells needs no visit to any of them: with W and F the factors, it is a product of sums and of
the Gram matrices W'W and FF'. What was counted wrongly that way (ones, cells not observed, and the
few zeros where p exceeds `HOT`) is visited one by one and put right. So

    L = sum_ones log p + sum_hot log(1 - p) - sum_others (p + p^2/2)

is climbed by minorisation: log of a sum by Jensen's inequality as in EM, -p^2/2 over all cells by
Jensen's inequality for a convex function, +p^2/2 over the visited cells by its tangent. All three
touch L where they start. Each row solves for its weights on the simplex (one multiplier), then each
component for its probability in a column, in nearly closed form. What remains of p is a product of
the two, so columns must know the rows' new weights: if both moved at once L could fall; one after
the other, from the same responsibilities and tangents, it cannot. Steps are longer than EM's,
because zeros no longer hold a row's weights where they are.

Which zeros are hot is looked up anew at iterations 1, 2, 4, 8, ...; L is redefined there
("rebased"). The exact likelihood is computed once, at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels import convex_sparse as kernel
from falsezero.models.convex.family import NEARER, Components, floor_of, normalise_rows, within
from falsezero.models.convex.hot import find_hot, listed_cells
from falsezero.models.convex.rows import settled_sparse_weights


class SparseRows(NamedTuple):
    """Row weights of a block, its hot zeros as CSR pattern, and when to look for them again."""

    weights: np.ndarray
    hot_start: np.ndarray
    hot_columns: np.ndarray
    clock: int


class SparseStatistics(NamedTuple):
    """Additive over blocks. Arrays over columns are columns x components."""

    ones: np.ndarray
    zeros: np.ndarray
    linear: np.ndarray
    """What the visited cells take back from the slope of the sums over all cells."""
    weight_sum: np.ndarray
    gram: np.ndarray
    """Like the two before it, of the rows' new weights."""
    log_likelihood: float
    """With plain zeros in second order, at the weights that the rows came with."""
    log_prior: float
    rebased: int


class SparseSteps:
    """Maximum likelihood of a convex Bernoulli model without visiting the plain zeros."""

    state_params = {"components": 0}
    local_params = {"weights": 1}

    def __init__(self, exact: Any):
        self.exact = exact
        self.floor = floor_of(np.float64)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Components, list[SparseRows]]:
        """The start of the exact solver."""
        state, local = self.exact.init(blocks, rng)
        return Components(state.components.astype(float)), self.cold(local)

    @staticmethod
    def cold(local: list[Any]) -> list[SparseRows]:
        """Row weights with no hot zeros yet."""
        none = np.empty(0, dtype=np.int32)
        # Weights that add up to one in single precision may have p above one in double.
        weights = [normalise_rows(part.weights.astype(float)) for part in local]
        return [SparseRows(w, np.zeros(len(w) + 1, np.int64), none, 1) for w in weights]

    def local_step(
        self, block: Block, local: SparseRows, state: Components, rng: Any
    ) -> tuple[SparseRows, SparseStatistics]:
        """Visit the listed cells of a block, and solve each row for its weights."""
        rebased = local.clock & (local.clock - 1) == 0
        if rebased:
            local = local._replace(**find_hot(block, local.weights, state.components))
        w, f = local.weights, state.components
        columns = np.ascontiguousarray(f.T)
        row_count, row_linear = np.zeros_like(w), np.zeros_like(w)
        ones, zeros, linear = (np.zeros_like(columns) for _ in range(3))
        everywhere, overlap = f.sum(axis=1), f @ f.T
        log_likelihood = -w.sum(axis=0) @ everywhere - 0.5 * np.sum((w.T @ w) * overlap)
        lists = listed_cells(block, local)
        slopes = [np.empty(len(index)) for _, _, index in lists]
        for (kind, start, index), slope in zip(lists, slopes, strict=True):
            made = ones if kind == kernel.ONES else zeros
            log_likelihood += kernel.visit(
                kind, start, index, w, columns, row_count, row_linear, made, slope
            )
        share = self.exact.prior / w.shape[1]
        log_prior = share * float(np.log(np.maximum(w, 1e-300)).sum()) if share else 0.0
        if share:
            row_count += share
        new = w.copy()
        falls = np.subtract(everywhere, row_linear, out=row_linear)
        kernel.climb_rows(new, row_count, falls, w @ overlap)
        for (_, start, index), slope in zip(lists, slopes, strict=True):
            kernel.take_back(start, index, slope, new, linear)
        stats = SparseStatistics(
            ones, zeros, linear, new.sum(axis=0), new.T @ new, float(log_likelihood), log_prior,
            int(rebased),
        )  # fmt: skip
        return local._replace(weights=new, clock=local.clock + 1), stats

    def settle(self, block: Block, local: SparseRows, state: Components) -> SparseRows:
        """Row weights at the maximum of the same surrogate, components fixed."""
        f, share = state.components, self.exact.prior / self.exact.n_components
        local = settled_sparse_weights(block, local, f, f, share)
        return local._replace(weights=normalise_rows(local.weights))

    def global_step(self, stats: SparseStatistics, state: Components, rng: Any) -> Components:
        """Solve each column for the probabilities of its components."""
        f, prior, mean = state.components, self.exact.prior, self.exact.column_mean
        columns = np.ascontiguousarray(f.T)
        kernel.climb_columns(
            columns,
            stats.ones + prior * mean[:, None],
            stats.zeros + prior * (1 - mean[:, None]),
            stats.weight_sum - stats.linear,
            np.ascontiguousarray((stats.gram @ f).T),
            self.floor,
        )
        return Components(np.ascontiguousarray(columns.T))

    def objective(self, stats: SparseStatistics, state: Components) -> float:
        """The likelihood with its plain zeros in second order."""
        return stats.log_likelihood + stats.log_prior + self.exact.log_prior(state.components)

    def project(self, trial: Point, reference: Point) -> Point:
        """Components into (0, 1), weights onto the simplex, neither much nearer the edge."""
        a = within(trial.state.components, reference.state.components)
        rows = [
            t._replace(weights=normalise_rows(np.maximum(t.weights, NEARER * r.weights)))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(Components(np.clip(a, self.floor, 1 - self.floor)), rows)
