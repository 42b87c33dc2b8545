"""The mathematics of binary ICA, for the engine: variational EM and variational Bayes.

Equation numbers are those of the paper that `models/convex/binary_ica.py` cites.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels.convex import ConvexStatistics
from falsezero.kernels.dirichlet import dirichlet_factors
from falsezero.kernels.row_bayes import settle_dense
from falsezero.models.convex.batches import CountedBySteps
from falsezero.models.convex.family import (
    NEARER,
    cut_rows,
    floor_of,
    fused_pass,
    normalise_rows,
    renewed_rows,
)
from falsezero.models.convex.rows import settled_weights

ROW_TOL = 1e-8
"""A row has settled when its counts are so near their limit, as a share of its cells."""

EXTINCT_CELLS = 1.0
"""A component that explains less than so many cells has fallen back to its prior."""


class Sources(NamedTuple):
    """The shared state: one Beta per component and column (eq. 7), and what follows from it."""

    alpha: np.ndarray
    beta: np.ndarray
    ones: np.ndarray
    """exp<log b>, the factor of a one."""
    zeros: np.ndarray
    """exp<log(1 - b)>, the factor of a zero."""
    divergence: float
    """KL(q(b) || prior), summed over components and columns."""


class RowCounts(NamedTuple):
    """Row quantities of a block: Dirichlet parameters of the weights (eq. B.5)."""

    counts: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks."""

    ones: np.ndarray
    zeros: np.ndarray
    log_bound: float
    divergence: float


class VariationalEM(CountedBySteps):
    """Variational EM: Beta posteriors of the sources, best values of the weights (eqs. 8-12).

    The bound is taken at its best Q (eq. 9) for the q(b) and weights at hand,
    sum log sum_k a_tk exp<log b_kn> (or the factor of a zero) - KL(q(b) || prior), so that Q is
    never stored. Given Q, q(b) and the weights do not touch each other: both are renewed from one
    pass and the bound cannot fall. `inner_iter` passes renew the rows before the sources once.
    """

    state_params: dict[str, int | None] = {"alpha": 0, "beta": 0}
    local_params: dict[str, int | None] = {"weights": 1}

    def __init__(
        self, n_components: int, blocks: Blocks, shapes: tuple[float, float], inner_iter: int = 1
    ):
        self.n_components = n_components
        self.shapes = np.array(shapes, dtype=float)
        self.inner_iter = inner_iter
        self.dtype = blocks.dtype
        self.floor = floor_of(blocks.dtype)

    @property
    def is_rugged(self) -> bool:
        """Whether a row may have several optima given the sources; its likelihood is concave."""
        return False

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Sources, list[Any]]:
        """Weights uniform on the simplex, sources uniform around the column means."""
        n_rows, n_columns = blocks.shape
        weights = rng.dirichlet(np.ones(self.n_components), size=n_rows)
        noise = rng.random((self.n_components, n_columns))
        ones, observed = blocks.column_counts
        mean = np.clip(2 * noise * (ones + 0.5) / (observed + 1), 0.0, 0.5 + 0.5 * noise)
        share = observed / self.n_components
        return self.sources(share * mean, share * (1 - mean)), self.rows(weights, blocks)

    def rows(self, weights: np.ndarray, blocks: Blocks) -> list[Any]:
        """Row quantities with these weights."""
        return list(cut_rows(weights, blocks))

    def sources(self, ones: np.ndarray, zeros: np.ndarray) -> Sources:
        """Posteriors from expected ones and zeros of each component and column (eq. 8)."""
        alpha, beta = ones + self.shapes[0], zeros + self.shapes[1]
        counts = np.stack([alpha.ravel(), beta.ravel()])
        factors = np.empty(counts.shape, dtype=self.dtype)
        divergence = dirichlet_factors(counts, self.shapes, self.floor, factors)
        one, zero = factors.reshape(2, *alpha.shape)
        return Sources(alpha, beta, one, zero, divergence)

    def local_step(self, block: Block, local: Any, state: Sources, rng: Any) -> tuple[Any, Any]:
        """Renew the rows of a block `inner_iter` times, and take its share of eqs. 10-11."""
        weights, divergence = self.row_factors(local)
        seen = fused_pass(block, weights, state.ones, state.zeros)
        log_bound = seen.log_likelihood
        for _ in range(self.inner_iter - 1):
            local = self.renew_rows(block, local, weights, seen)
            weights, _ = self.row_factors(local)
            seen = fused_pass(block, weights, state.ones, state.zeros)
        local = self.renew_rows(block, local, weights, seen)
        return local, _Statistics(seen.ones, seen.zeros, log_bound, divergence)

    def row_factors(self, local: Any) -> tuple[np.ndarray, float]:
        """W of the pass, and the divergence of the rows from their prior (none here)."""
        return local.weights, 0.0

    def renew_rows(
        self, block: Block, local: Any, weights: np.ndarray, seen: ConvexStatistics
    ) -> Any:
        """Eq. 12."""
        return local._replace(weights=renewed_rows(block, weights, seen.row_stat))

    def settle(self, block: Block, local: Any, state: Sources) -> Any:
        """Rows at their maximum, sources fixed: `transform`, and the end of a fit."""
        weights = settled_weights(block, local.weights, state.ones, state.zeros)
        return local._replace(weights=normalise_rows(weights.astype(local.weights.dtype)))

    def global_step(self, stats: Any, state: Sources, rng: Any) -> Sources:
        """Eqs. 10-11."""
        return self.sources(state.ones * stats.ones, state.zeros * stats.zeros)

    def expected_counts(self, stats: Any, state: Sources) -> tuple[np.ndarray, np.ndarray]:
        """Ones and zeros that each component is responsible for in each column."""
        found = self.global_step(stats, state, None)
        return found.alpha - self.shapes[0], found.beta - self.shapes[1]

    def state_of(self, ones: np.ndarray, zeros: np.ndarray) -> Sources:
        """Posteriors from expected counts."""
        return self.sources(ones, zeros)

    def objective(self, stats: Any, state: Sources) -> float:
        """The bound on the log evidence: eq. 6 here, eq. B.1 where rows have a prior too."""
        return stats.log_bound - stats.divergence - state.divergence

    def in_use(self, point: Point) -> list[int]:
        """Components that explain at least one cell, those that explain least first."""
        cells = self.cells(point.state)
        return [int(k) for k in np.argsort(cells) if cells[k] >= EXTINCT_CELLS]

    def cells(self, state: Sources) -> np.ndarray:
        """How many cells each component explains, in expectation."""
        return (state.alpha + state.beta - self.shapes.sum()).sum(axis=1)

    def without(self, point: Point, component: int) -> Point:
        """One component back at its prior; its share of each row goes to the others alike."""
        others = [k for k in self.in_use(point) if k != component]
        ones, zeros = point.state.alpha - self.shapes[0], point.state.beta - self.shapes[1]
        ones[component] = zeros[component] = 0.0
        rows = [self.rows_without(local, component, others) for local in point.local]
        return Point(self.sources(ones, zeros), rows)

    def rows_without(self, local: Any, component: int, others: list[int]) -> Any:
        """Weights without one component."""
        return local._replace(weights=_shared_out(local.weights, component, others))

    def project(self, trial: Point, reference: Point) -> Point:
        """Counts and weights no nearer to their lower end than a share of the reference's."""
        state, known = trial.state, reference.state
        ones, zeros = (
            np.maximum(getattr(state, name) - prior, NEARER * (getattr(known, name) - prior))
            for name, prior in zip(("alpha", "beta"), self.shapes, strict=True)
        )
        # With a frozen state the trial has the reference's own, and its factors are at hand.
        sources = known if state is known else self.sources(ones, zeros)
        rows = [self.project_rows(*pair) for pair in zip(trial.local, reference.local, strict=True)]
        return Point(sources, rows)

    def project_rows(self, trial: Any, reference: Any) -> Any:
        """Weights back onto the simplex."""
        weights = np.maximum(trial.weights, NEARER * reference.weights)
        return trial._replace(weights=normalise_rows(weights))


class VariationalBayes(VariationalEM):
    """Variational Bayes: the weights of a row have a Dirichlet posterior too (appendix B)."""

    local_params = {"counts": 1}

    def __init__(
        self,
        n_components: int,
        blocks: Blocks,
        shapes: tuple[float, float],
        gamma0: float,
        inner_iter: int = 1,
    ):
        super().__init__(n_components, blocks, shapes, inner_iter)
        self.gamma0 = float(gamma0)
        self.prior = np.full(n_components, self.gamma0)

    def rows(self, weights: np.ndarray, blocks: Blocks) -> list[Any]:
        """Dirichlet parameters as if each row's observed cells were shared out by its weights."""
        cells = (weights[b.rows] * b.observed[:, None] for b in blocks)
        return [RowCounts((self.gamma0 + part).astype(self.dtype)) for part in cells]

    def row_factors(self, local: RowCounts) -> tuple[np.ndarray, float]:
        """exp<log a>, and KL(q(a) || prior) summed over the rows."""
        counts = local.counts.T.astype(float, order="C")
        factors = np.empty(counts.shape, dtype=self.dtype)
        divergence = dirichlet_factors(counts, self.prior, self.floor, factors)
        return factors.T.copy(), divergence

    def renew_rows(
        self, block: Block, local: Any, weights: np.ndarray, seen: ConvexStatistics
    ) -> RowCounts:
        """Eq. B.5."""
        return local._replace(counts=self.gamma0 + weights * seen.row_stat)

    @property
    def is_rugged(self) -> bool:
        """As a Dirichlet below 1 favours the corners, a row then may have several optima."""
        return self.gamma0 < 1

    def settle(self, block: Block, local: Any, state: Sources) -> Any:
        """Counts at the best optimum found, sources fixed."""
        counts = local.counts.astype(float)
        ones, zeros = state.ones.astype(float), state.zeros.astype(float)
        for tile in block.tiles():
            here = counts[tile.start - block.start :][: tile.shape[0]]
            settle_dense(
                tile.codes, ones, zeros, here, self.gamma0, self.floor, self.is_rugged, ROW_TOL
            )
        return local._replace(counts=counts.astype(local.counts.dtype))

    def rows_without(self, local: RowCounts, component: int, others: list[int]) -> RowCounts:
        """Counts without one component."""
        cells = _shared_out(local.counts - self.gamma0, component, others)
        return local._replace(counts=self.gamma0 + cells)

    def project_rows(self, trial: RowCounts, reference: RowCounts) -> RowCounts:
        """Counts at least at the prior, with the reference's sum."""
        known = reference.counts - self.gamma0
        cells = np.maximum(trial.counts - self.gamma0, NEARER * known)
        total = np.maximum(cells.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        cells *= known.sum(axis=1, keepdims=True) / total
        return trial._replace(counts=self.gamma0 + cells)


def _shared_out(shares: np.ndarray, component: int, others: list[int]) -> np.ndarray:
    shares = shares.copy()
    shares[:, others] += shares[:, [component]] / len(others)
    shares[:, component] = 0.0
    return shares
