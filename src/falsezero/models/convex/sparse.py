"""The sparse solver of the convex Bernoulli family: its cost grows with the ones, not the cells.

Away from the ones p is small, and -log(1 - p) = p + p^2/2 up to p^3/3. The sum of p and of p^2 over
*all* cells needs no visit to any of them: with W and F the factors, it is a product of sums and of
the Gram matrices W'W and FF'. What was counted wrongly that way (ones, cells not observed, and the
few zeros where p exceeds `HOT`) is visited one by one and put right. So

    L = sum_ones log p + sum_hot log(1 - p) - sum_others (p + p^2/2)

is climbed by minorisation. Put right, a one contributes log p + p + p^2/2, a hot zero
log(1 - p) + p + p^2/2, a cell not observed p + p^2/2. In log p all but log(1 - p) are convex, so
their tangents there lie below them, and log p is minorised by Jensen's inequality as in EM: a cell
counts for p times the slope in p, that is for 1 + p + p^2 ones where it is a one, for p + p^2
elsewhere. log(1 - p) is minorised as in EM too, and -p^2/2 over all cells by Jensen's inequality
for a convex function. All touch L where they start. The counts part into those of rows and those of
columns, so one visit to a cell serves both. Each row solves for its weights on the simplex (one
multiplier), then each component for its probability in a column, in nearly closed form. The sums
over all cells are products of the two, so columns must know the sums of the rows' new weights: if
both moved at once L could fall; one after the other it cannot. Steps are longer than EM's, because
plain zeros do not hold a row's weights where they are.

Which zeros are hot is determined again at iterations 1, 2, 4, 8, ...; L is redefined there
("rebased"). The exact likelihood is computed once, at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels import convex_sparse as kernel
from falsezero.kernels.best_cells import csr_pattern
from falsezero.kernels.sparse_pass import on_lines, sparse_pass
from falsezero.kernels.variational_sparse import visit_cells
from falsezero.models.convex.family import (
    NEARER,
    Components,
    clip_to_reference,
    floor_of,
    normalise_rows,
)
from falsezero.models.convex.hot import find_hot, listed_cells
from falsezero.models.convex.rows import settled_sparse_weights

_AT_A_TIME = 1024


class SparseRows(NamedTuple):
    """Row weights of a block, its hot zeros as CSR pattern, and when to look for them again."""

    weights: np.ndarray
    hot_start: np.ndarray
    hot_columns: np.ndarray
    clock: int


class SparseStatistics(NamedTuple):
    """Additive over blocks."""

    ones: np.ndarray
    """columns x components: sums of w times the ones that each listed cell counts for."""
    zeros: np.ndarray
    """The same of the zeros that each hot zero counts for, w / (1 - p)."""
    weight_sum: np.ndarray
    gram: np.ndarray
    """Like the one before it, of the rows' new weights."""
    log_likelihood: float
    """With plain zeros in second order, at the weights that the rows came with."""
    log_prior: float
    rebased: int


class SparseSteps:
    """Maximum likelihood of a convex Bernoulli model without visiting the plain zeros.

    Weights and components are rounded to the precision of the table, so that a pass reads half as
    much where that is single; all sums are double. At an optimum the loss by rounding is
    quadratic and so negligible.
    """

    state_params = {"components": 0}
    local_params = {"weights": 1}

    def __init__(self, exact: Any):
        self.exact = exact
        self.floor = floor_of(np.float64)
        # Weights in single precision may add up to a little more than one.
        self.ceiling = 1 - floor_of(exact.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Components, list[SparseRows]]:
        """The start of the exact solver."""
        state, local = self.exact.init(blocks, rng)
        return self._rounded(state.components), self.cold(local)

    def init_rows(self, block: Block, rng: np.random.Generator) -> SparseRows:
        """Rows of one block."""
        return self.cold([self.exact.init_rows(block, rng)])[0]

    def init_state(self, blocks: Blocks, rng: np.random.Generator) -> Components:
        """Components of the exact solver."""
        return self._rounded(self.exact.init_state(blocks, rng).components)

    def _rounded(self, components: np.ndarray) -> Components:
        """Numbers that the precision of the table can hold, as doubles."""
        return Components(components.astype(self.exact.dtype).astype(float))

    @staticmethod
    def cold(local: list[Any]) -> list[SparseRows]:
        """Row weights with no hot zeros yet."""
        none = np.empty(0, dtype=np.int32)
        return [
            SparseRows(part.weights, np.zeros(len(part.weights) + 1, np.int64), none, 1)
            for part in local
        ]

    def local_step(
        self, block: Block, local: SparseRows, state: Components, rng: Any
    ) -> tuple[SparseRows, SparseStatistics]:
        """Visit the listed cells of a block, and solve each row for its weights."""
        rebased = local.clock & (local.clock - 1) == 0
        if rebased:
            local = local._replace(**find_hot(block, local.weights, state.components))
        w, f = local.weights, state.components
        columns, new = on_lines(f.T.shape, w.dtype), np.empty_like(w)
        columns[:] = f.T
        ones, zeros = on_lines(columns.shape, float), np.zeros(columns.shape)
        log_likelihood, log_prior = sparse_pass(
            w, columns, f.sum(axis=1), f @ f.T, self.exact.prior / len(f),
            *csr_pattern(block.csr), local.hot_start, local.hot_columns,
            *csr_pattern(block.missing_csr, w), new, ones, zeros,
        )  # fmt: skip
        stats = SparseStatistics(
            ones, zeros, *sum_and_gram(new), log_likelihood, log_prior, int(rebased)
        )
        return local._replace(weights=new, clock=local.clock + 1), stats

    def settle(self, block: Block, local: SparseRows, state: Components) -> SparseRows:
        """Row weights at the maximum of the same surrogate, components fixed."""
        f, share = state.components, self.exact.prior / self.exact.n_components
        settled = settled_sparse_weights(block, local, f, f, share)
        weights = settled.weights.astype(local.weights.dtype)
        return settled._replace(weights=normalise_rows(weights))

    def global_step(self, stats: SparseStatistics, state: Components, rng: Any) -> Components:
        """Solve each column for the probabilities of its components."""
        f, prior, mean = state.components, self.exact.prior, self.exact.column_mean[:, None]
        columns = np.ascontiguousarray(f.T)
        kernel.climb_columns(
            columns,
            columns * stats.ones + prior * mean,
            (1 - columns) * stats.zeros + prior * (1 - mean),
            stats.weight_sum,
            np.ascontiguousarray((stats.gram @ f).T),
            self.floor,
        )
        return self._rounded(np.minimum(columns.T, self.ceiling, order="C"))

    def batch_counts(self, block: Block, local: SparseRows, state: Components) -> np.ndarray:
        """Ones and zeros that each component is responsible for, plain zeros in second order."""
        w, f = local.weights.astype(float), state.components
        columns, unused = np.ascontiguousarray(f.T), np.zeros(w.shape)
        ones, zeros = np.zeros(columns.shape), np.zeros(columns.shape)
        for kind, start, index in listed_cells(block, local):
            visit_cells(kind, start, index, w, columns, columns, unused, ones, zeros)
        weight_sum, gram = sum_and_gram(w)
        zeros += ((1 - f) * (weight_sum[:, None] + gram @ f)).T
        return np.stack([ones.T, np.maximum(zeros.T, 0.0)])

    def state_of(self, ones: np.ndarray, zeros: np.ndarray) -> Components:
        """Components from expected counts."""
        known = self.exact.state_of(ones, zeros).components.astype(float)
        return self._rounded(np.clip(known, self.floor, self.ceiling))

    def objective(self, stats: SparseStatistics, state: Components) -> float:
        """The likelihood with its plain zeros in second order."""
        return stats.log_likelihood + stats.log_prior + self.exact.log_prior(state.components)

    def project(self, trial: Point, reference: Point) -> Point:
        """Components into (0, 1), weights onto the simplex, neither much nearer the edge."""
        a = clip_to_reference(trial.state.components, reference.state.components)
        for t, r in zip(trial.local, reference.local, strict=True):
            # In place, because only the trial holds this memory and there may be many rows.
            normalise_rows(np.maximum(t.weights, NEARER * r.weights, out=t.weights))
        return Point(self._rounded(np.clip(a, self.floor, self.ceiling)), trial.local)


def sum_and_gram(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column sums and W'W in double precision, some rows at a time."""
    total, gram = np.zeros(weights.shape[1]), np.zeros((weights.shape[1],) * 2)
    for start in range(0, len(weights), _AT_A_TIME):
        some = weights[start : start + _AT_A_TIME].astype(float, copy=False)
        total += some.sum(axis=0)
        gram += some.T @ some
    return total, gram
