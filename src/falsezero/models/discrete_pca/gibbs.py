"""Discrete PCA by Gibbs sampling of Theta too. Given Theta rows are independent, so that blocks
can be sampled side by side without approximation.

`DirectGibbsSteps` draws (l, v) in turn; `RowCollapsedSteps` marginalises l out of each token's draw
(slide "Gibbs with Rao-Blackwellisation"). With multinomial groups and gammas of unequal rates,
the factor 1 / (sum_k l_k)^L is handled by an auxiliary variable per row, u ~ Gamma(L, sum_k l_k):
given u the l_k are again gammas, of rate beta_k + delta_P + u.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels.topics import deal_tokens, sweep_rows
from falsezero.models.discrete_pca.family import Family, Hyper, learnt_priors

_TINY = 1e-150
LARGE = 64
"""Count of a cell above which its tokens are drawn as one multinomial, not one by one."""

_AT_ONCE = 10_000

_LEARN_EVERY = 10
"""Sweeps of the warm-up from one update of the priors to the next."""


class Drawn(NamedTuple):
    """The state: Theta, the counts it was drawn from, the priors and the number of sweeps."""

    theta: np.ndarray
    counts: np.ndarray
    hyper: Hyper
    sweep: int


class DrawnRows(NamedTuple):
    """Row quantities: l (or m), u, tokens by component, and the component of every token."""

    weights: np.ndarray
    pull: np.ndarray
    counts: np.ndarray
    z: np.ndarray


class Statistics(NamedTuple):
    """Additive over blocks."""

    words: np.ndarray
    log_joint: float
    sum_log: np.ndarray
    sum_mean: np.ndarray
    n_rows: int


class Tokens(NamedTuple):
    """The tokens of a block, row by row."""

    row_ptr: np.ndarray
    words: np.ndarray

    @classmethod
    def of(cls, csr: Any) -> Tokens:
        """Repeat every stored word as often as it was counted."""
        counts = csr.data.astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(counts)])
        return cls(ends[csr.indptr], np.repeat(csr.indices, counts).astype(np.int32))


def is_learning_sweep(sweep: int, warmup: int) -> bool:
    """Whether the priors are updated after this sweep: now and then, during the warm-up only.

    >>> [sweep for sweep in range(40) if is_learning_sweep(sweep, 29)]
    [9, 19]
    """
    return sweep < warmup and sweep % _LEARN_EVERY == _LEARN_EVERY - 1


def random_state_of(rng: np.random.Generator) -> np.ndarray:
    """Seed of the kernels' own random generator."""
    return rng.integers(1, 2**63, size=1, dtype=np.uint64)


def split_large_counts(
    csr: Any, weights: np.ndarray, theta: np.ndarray, counts: np.ndarray, words: np.ndarray,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw the components of cells with more than `LARGE` tokens as one multinomial each."""
    cells = np.flatnonzero(csr.data > LARGE)
    rows = np.searchsorted(csr.indptr, cells, side="right") - 1
    for start in range(0, len(cells), _AT_ONCE):
        own, at = rows[start : start + _AT_ONCE], cells[start : start + _AT_ONCE]
        columns = csr.indices[at]
        p = weights[own] * theta[columns]
        dealt = rng.multinomial(csr.data[at].astype(np.int64), p / p.sum(axis=1, keepdims=True))
        np.add.at(counts, own, dealt)
        np.add.at(words, columns, dealt)


class DirectGibbsSteps:
    """Draw v given (l, Theta), then l given v, then Theta given v (slide "Algorithm Issues").

    During the first `warmup` sweeps alpha and beta may be learnt from the draws; then they are
    fixed, so that all kept draws have the same target distribution.
    """

    state_params: dict[str, int | None] = {}
    local_params: dict[str, int | None] = {}

    def __init__(
        self,
        family: Family,
        blocks: Blocks,
        hyper: Hyper,
        eta: float,
        warmup: int = 0,
        learn: tuple[bool, bool] = (False, False),
    ):
        self.family, self.hyper, self.eta = family, hyper, eta
        self.warmup, self.learn = warmup, learn
        self.lengths = {b.start: family.lengths(b.csr) for b in blocks}
        self.constant = sum(family.constant(b.csr) for b in blocks)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Drawn, list[DrawnRows]]:
        """Theta near the column means, weights at the mean of their prior."""
        total, _ = blocks.column_counts
        shape = (len(total), len(self.hyper.alpha))
        counts = np.zeros(shape)
        noise = rng.standard_gamma(10.0, shape) * (total[:, None] + self.eta)
        state = Drawn(self.family.normalise(noise), counts, self.hyper, 0)
        return state, [self.start_rows(b, rng) for b in blocks]

    def start_rows(self, block: Block, rng: np.random.Generator) -> DrawnRows:
        """Weights at the mean of their prior."""
        alpha, beta = self.hyper
        mean = alpha / beta if self.family.gamma else alpha / alpha.sum()
        weights = np.tile(mean, (block.shape[0], 1))
        pull = self.lengths[block.start] / weights.sum(axis=1)
        return DrawnRows(weights, pull, np.zeros_like(weights), np.zeros(0, np.int32))

    # -- draws ----------------------------------------------------------------------------------

    def local_step(
        self, block: Block, local: DrawnRows, state: Drawn, rng: np.random.Generator
    ) -> tuple[DrawnRows, Statistics]:
        """v for the rows of a block, then their weights."""
        csr = block.csr
        counts, words = np.zeros_like(local.weights), np.zeros_like(state.theta)
        log_z = deal_tokens(
            csr.indptr, csr.indices, csr.data, local.weights, state.theta, counts, words,
            LARGE, random_state_of(rng),
        )  # fmt: skip
        split_large_counts(csr, local.weights, state.theta, counts, words, rng)
        log_joint = log_z + self.log_prior(block, local, state.hyper)
        new = self.draw_weights(block, local._replace(counts=counts), state.hyper, rng)
        return new, self.statistics(words, log_joint, new)

    def statistics(self, words: np.ndarray, log_joint: float, rows: DrawnRows) -> Statistics:
        """The statistics of a block, for the state and the priors."""
        w = rows.weights
        return Statistics(words, log_joint, np.log(w).sum(axis=0), w.sum(axis=0), len(w))

    def draw_weights(
        self, block: Block, rows: DrawnRows, hyper: Hyper, rng: np.random.Generator
    ) -> DrawnRows:
        """l given v and u, then u given l; m given v where weights are a Dirichlet."""
        drawn = np.maximum(rng.standard_gamma(hyper.alpha + rows.counts), _TINY)
        if not self.family.gamma:
            return rows._replace(weights=drawn / drawn.sum(axis=1, keepdims=True))
        weights = drawn / self.rates(rows, hyper)
        pull = rng.standard_gamma(self.lengths[block.start]) / weights.sum(axis=1)
        return rows._replace(weights=weights, pull=pull)

    def rates(self, rows: DrawnRows, hyper: Hyper) -> np.ndarray:
        """beta_k + delta_P + u_i."""
        return hyper.beta + self.family.delta + rows.pull[:, None]

    def log_prior(self, block: Block, rows: DrawnRows, hyper: Hyper) -> float:
        """log p(l), plus the terms of the likelihood that depend on the scale of l."""
        w = rows.weights
        total = float((np.log(w) @ (hyper.alpha - 1)).sum())
        total += len(w) * self.family.log_weight_norm(hyper)
        if not self.family.gamma:
            return total
        total -= float((w @ (hyper.beta + self.family.delta)).sum())
        return total - float((self.lengths[block.start] * np.log(w.sum(axis=1))).sum())

    def global_step(self, stats: Statistics, state: Drawn, rng: np.random.Generator) -> Drawn:
        """Theta given v: a Dirichlet for each component and group."""
        drawn = rng.standard_gamma(self.eta + stats.words)
        theta = self.family.normalise(np.maximum(drawn, _TINY))
        return Drawn(theta, stats.words, self.next_priors(stats, state), state.sweep + 1)

    def next_priors(self, stats: Statistics, state: Drawn) -> Hyper:
        """The priors of the next sweep: the same, or learnt from the weights just drawn."""
        if not is_learning_sweep(state.sweep, self.warmup):
            return state.hyper
        log, mean = stats.sum_log / stats.n_rows, stats.sum_mean / stats.n_rows
        return learnt_priors(self.family, state.hyper, self.learn, log, mean)

    def objective(self, stats: Statistics, state: Drawn) -> float:
        """log p(w, l, Theta) where the sweep began."""
        prior = (self.eta - 1) * float(np.log(state.theta).sum())
        prior += self.family.log_theta_norm(self.eta, state.theta.shape[1])
        return self.constant + stats.log_joint + prior

    def project(self, trial: Point, reference: Point) -> Point:
        """Samplers take no strides."""
        return reference

    # -- estimates from a draw ------------------------------------------------------------------

    def add_components(self, state: Drawn, means: np.ndarray | None = None) -> np.ndarray:
        """E[Theta | v], words x components, added to `means`."""
        found = self.family.normalise(self.eta + state.counts)
        return found if means is None else means + found

    def row_weights(self, local: list[DrawnRows], state: Drawn) -> np.ndarray:
        """E[m | v] or E[l | v, u], rows x components."""
        return np.concatenate([self._expected_weights(rows, state.hyper) for rows in local])

    def _expected_weights(self, rows: DrawnRows, hyper: Hyper) -> np.ndarray:
        shape = hyper.alpha + rows.counts
        if not self.family.gamma:
            return shape / shape.sum(axis=1, keepdims=True)
        return shape / self.rates(rows, hyper)


class RowCollapsedSteps(DirectGibbsSteps):
    """Draw each token's component with l marginalised, then Theta given v."""

    def __init__(self, family: Family, blocks: Blocks, *args: Any, **kwargs: Any):
        super().__init__(family, blocks, *args, **kwargs)
        self.tokens = {b.start: Tokens.of(b.csr) for b in blocks}

    def start_rows(self, block: Block, rng: np.random.Generator) -> DrawnRows:
        """Every token in a random component."""
        rows = super().start_rows(block, rng)
        row_ptr, words = self.tokens[block.start]
        z = rng.integers(len(self.hyper.alpha), size=len(words)).astype(np.int32)
        owner = np.repeat(np.arange(block.shape[0]), np.diff(row_ptr))
        counts = np.zeros_like(rows.weights)
        np.add.at(counts, (owner, z), 1)
        return rows._replace(counts=counts, z=z)

    def local_step(
        self, block: Block, local: DrawnRows, state: Drawn, rng: np.random.Generator
    ) -> tuple[DrawnRows, Statistics]:
        """Every token of a block given all others of its row."""
        row_ptr, tokens = self.tokens[block.start]
        z, counts = local.z.copy(), local.counts.copy()
        scale = 1 / self.rates(local, state.hyper) if self.family.gamma else np.ones_like(counts)
        sweep_rows(
            row_ptr, tokens, z, counts, state.hyper.alpha, scale, state.theta, random_state_of(rng)
        )
        words = np.zeros_like(state.theta)
        np.add.at(words, (tokens, z), 1)
        new = self.draw_weights(block, local._replace(z=z, counts=counts), state.hyper, rng)
        log_z = float((words * np.log(state.theta)).sum())
        log_z += float((counts * np.log(new.weights)).sum())
        return new, self.statistics(words, log_z + self.log_prior(block, new, state.hyper), new)
