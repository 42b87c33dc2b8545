"""Discrete PCA by collapsed Gibbs sampling: weights and Theta marginalised, only v is sampled.

One shard is the exact sampler. With S shards the rows are cut into S parts and the words too; in
each of S phases every thread takes one part of the rows and a part of the words that no other
thread has (Yan, Xu and Qi, 2009). The only approximation is that a thread sees the others' changes
to the totals n_k at the end of a phase. The answer depends on the number of shards, not on that of
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from falsezero.backends import map_blocks
from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels.collapsed_gibbs import add_means, log_rising
from falsezero.kernels.topics import sweep_rows_collapsed
from falsezero.models.discrete_pca.family import Family, Hyper, gamma_rate, polya_alpha
from falsezero.models.discrete_pca.gibbs import (
    DrawnRows,
    RowCollapsedSteps,
    Statistics,
    is_learning_sweep,
    random_state_of,
)
from falsezero.models.discrete_pca.shards import Shard, SweepPrior, even_cuts, unlike_rows


class Counts(NamedTuple):
    """The state: tokens by word and by group, updated in place; priors; number of sweeps."""

    words: np.ndarray
    totals: np.ndarray
    hyper: Hyper
    sweep: int


class Trace(NamedTuple):
    """Result of a sweep: its log joint probability and the priors of the next one."""

    log_joint: float
    hyper: Hyper


def log_words(family: Family, eta: float, words: np.ndarray, totals: np.ndarray) -> float:
    """log p(w | v) with Theta marginalised, from tokens by word and by group."""
    spread = eta * family.sizes[:, None]
    rest = float((gammaln(spread) - gammaln(spread + totals)).sum())
    return log_rising(words, eta) + rest


class MarginalisedTheta:
    """Base of samplers that draw v only, with weights and Theta marginalised."""

    state_params: dict[str, int | None] = {}
    local_params: dict[str, int | None] = {}

    def __init__(self, family: Family, hyper: Hyper, eta: float):
        self.family, self.hyper, self.eta = family, hyper, eta

    def scale(self, hyper: Hyper) -> np.ndarray:
        """1 / (delta_P + beta_k) for gammas; a Dirichlet has none."""
        if not self.family.gamma:
            return np.ones(len(hyper.alpha))
        return 1.0 / (hyper.beta + self.family.delta)

    def prior(self, hyper: Hyper) -> SweepPrior:
        """The priors in the form that a sweep takes."""
        single = np.float32
        spread = (self.eta * self.family.sizes).astype(single)
        scale = self.scale(hyper).astype(single)
        return SweepPrior(hyper.alpha.astype(single), scale, single(self.eta), spread)

    def log_words(self, state: Any) -> float:
        """log p(w | v) with Theta marginalised, from tokens by word and by group."""
        return log_words(self.family, self.eta, state.words, state.totals)

    def log_gammas(self, hyper: Hyper, totals: np.ndarray, n_rows: int) -> float:
        """Sum over rows and components of alpha log(beta / rate) - c log(rate); 0 without gammas.

        This is the part of the rows' log joint probability that does not need the rows themselves.
        """
        if not self.family.gamma:
            return 0.0
        alpha, beta = hyper
        rate = beta + self.family.delta
        used = totals.sum(axis=0)
        return float(n_rows * alpha @ np.log(beta / rate) - used @ np.log(rate))

    def add_components(self, state: Any, means: np.ndarray | None = None) -> np.ndarray:
        """Add E[Theta | v], words x components, to `means`, in place."""
        means = np.zeros_like(state.words) if means is None else means
        spread = self.eta * self.family.sizes
        add_means(
            state.words, state.totals, self.family.groups, np.float32(self.eta), spread, means
        )
        return means

    def normalised(self, weights: np.ndarray, hyper: Hyper) -> np.ndarray:
        """E[m | v] or E[l | v] of rows whose alpha_k + c_k are given."""
        if self.family.gamma:
            return weights * self.scale(hyper)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def project(self, trial: Point, reference: Point) -> Point:
        """Samplers take no strides."""
        return reference


class CollapsedSteps(MarginalisedTheta):
    """Sample v alone; the table is one block, which is cut into `n_shards`.

    `run` maps a function over shards, on one thread or several.
    """

    def __init__(
        self,
        family: Family,
        blocks: Blocks,
        hyper: Hyper,
        eta: float,
        warmup: int = 0,
        learn: tuple[bool, bool] = (False, False),
        n_shards: int = 1,
        run: Callable[..., list[Any]] = map_blocks,
    ):
        super().__init__(family, hyper, eta)
        self.warmup, self.learn, self.run = warmup, learn, run
        csr = blocks[0].csr
        k = len(hyper.alpha)
        n_shards = max(1, min(n_shards, csr.shape[0], csr.shape[1]))
        self.tokens = np.asarray(csr.sum(axis=1), dtype=float)
        self.constant = family.constant(csr)
        word_parts = even_cuts(np.asarray(csr.sum(axis=0), dtype=float), n_shards)
        self.shards = [Shard(csr, rows, word_parts, k) for rows in even_cuts(self.tokens, n_shards)]

    # -- the start ------------------------------------------------------------------------------

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Counts, list[list[Any]]]:
        """Components start as dissimilar rows of the table; every token is assigned to one of them.

        If tokens started in random components, the first thirty sweeps or so would only find rows
        that belong together.
        """
        csr = blocks[0].csr
        return self.seeded(csr[unlike_rows(csr, len(self.hyper.alpha), rng)], rng)

    def seeded(self, seeds: Any, rng: np.random.Generator) -> tuple[Counts, list[list[Any]]]:
        """Start with the rows of a table of counts as components; draw one for every token."""
        spread = self.eta * seeds.shape[1]
        inverse = 1.0 / (np.asarray(seeds.sum(axis=1), dtype=float) + spread)
        return self.arrange(
            [s.seed(seeds, inverse, self.eta, random_state_of(rng)) for s in self.shards]
        )

    def arrange(self, pieces: list[np.ndarray]) -> tuple[Counts, list[list[Any]]]:
        """The state and the rows, given the components of all tokens in the order of the shards."""
        words = np.zeros((len(self.family.groups), len(self.hyper.alpha)), np.float32)
        for shard, z in zip(self.shards, pieces, strict=True):
            np.add.at(words, (shard.words, z), np.float32(1))
        local = [s.start(z) for s, z in zip(self.shards, pieces, strict=True)]
        return Counts(words, self.family.group_sums(words), self.hyper, 0), [local]

    # -- draws ----------------------------------------------------------------------------------

    def local_step(
        self, block: Block, local: list[Any], state: Counts, rng: np.random.Generator
    ) -> tuple[list[Any], Trace]:
        """One sweep over all tokens, in place."""
        n, prior, groups = len(self.shards), self.prior(state.hyper), self.family.groups
        streams = [random_state_of(rng) for _ in range(n)]
        for phase in range(n):
            totals = [state.totals.copy() for _ in range(n)]
            parts = [(s + phase) % n for s in range(n)]
            self.run(
                lambda shard, part, rows, own, stream: shard.sweep(
                    part, rows, state.words, own, groups, prior, stream
                ),
                self.shards,
                parts,
                local,
                totals,
                streams,
            )
            state.totals[...] = sum(totals) - (n - 1) * state.totals
        hyper = state.hyper
        if is_learning_sweep(state.sweep, self.warmup):
            hyper = self.learn_priors(local, state)
        return local, Trace(self.log_joint(local, state), hyper)

    def global_step(self, stats: Trace, state: Counts, rng: Any) -> Counts:
        """Count the sweep; there is nothing else to draw."""
        return state._replace(hyper=stats.hyper, sweep=state.sweep + 1)

    def learn_priors(self, local: list[Any], state: Counts) -> Hyper:
        """alpha and beta from the tokens by row and component (slide "Algorithm Issues, cont.")."""
        alpha, beta = state.hyper
        _, components, counts = self.pairs(local)
        n = len(self.tokens)
        if self.family.gamma:
            mean = np.bincount(components, counts, minlength=len(alpha)) / n
            if self.learn[1]:
                beta = gamma_rate(alpha, mean)
            if self.learn[0]:
                rise = n * np.log1p(1 / beta)
                alpha = polya_alpha(alpha, components, counts, lambda _: rise)
            return Hyper(alpha, gamma_rate(alpha, mean) if self.learn[1] else beta)
        if self.learn[0]:

            def rise_of(a: np.ndarray) -> float:
                return float((psi(a.sum() + self.tokens) - psi(a.sum())).sum())

            alpha = polya_alpha(alpha, components, counts, rise_of)
        return Hyper(alpha, beta)

    def pairs(self, local: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, component and number of tokens, for all pairs that have tokens."""
        each = [shard.pairs(rows) for shard, rows in zip(self.shards, local, strict=True)]
        return tuple(np.concatenate(column) for column in zip(*each, strict=True))  # type: ignore[return-value]

    def log_joint(self, local: list[Any], state: Counts) -> float:
        """log p(w, v), Theta marginalised too (slide "Likelihood with Components Marginalised")."""
        return self.constant + self.log_tokens(local, state) + self.log_words(state)

    def log_tokens(self, local: list[Any], state: Counts) -> float:
        """log p(v): the contribution of the rows."""
        alpha = state.hyper.alpha
        pairs = zip(self.shards, local, strict=True)
        total = sum(shard.log_rising(rows, alpha) for shard, rows in pairs)
        if not self.family.gamma:
            a = alpha.sum()
            return total + float((gammaln(a) - gammaln(a + self.tokens)).sum())
        return total + self.log_gammas(state.hyper, state.totals, len(self.tokens))

    def objective(self, stats: Trace, state: Counts) -> float:
        """log p(w, v) after the sweep."""
        return stats.log_joint

    # -- estimates from a draw ------------------------------------------------------------------

    def row_weights(self, local: list[list[Any]], state: Counts) -> np.ndarray:
        """E[m | v] or E[l | v], rows x components."""
        weights = np.tile(state.hyper.alpha, (len(self.tokens), 1))
        rows, components, counts = self.pairs(local[0])
        weights[rows, components] += counts
        return self.normalised(weights, state.hyper)


class GroupCollapsedSteps(RowCollapsedSteps):
    """The same for gammas of unequal rates with multinomial groups, where u differs by row.

    Given u a token's draw needs neither l nor Theta; l and u are drawn once per sweep, row by row.
    """

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Any, list[DrawnRows]]:
        """Every token in a random component."""
        state, local = super().init(blocks, rng)
        for rows in local:
            np.add.at(state.counts, (self.tokens[0].words, rows.z), 1)
        return state, local

    def local_step(
        self, block: Block, local: DrawnRows, state: Any, rng: np.random.Generator
    ) -> tuple[DrawnRows, Statistics]:
        """Every token given all others, then l and u of every row."""
        row_ptr, tokens = self.tokens[block.start]
        z, counts, words = local.z.copy(), local.counts.copy(), state.counts.copy()
        sweep_rows_collapsed(
            row_ptr, tokens, z, counts, state.hyper.alpha, 1 / self.rates(local, state.hyper),
            words, self.family.group_sums(words), self.family.groups, self.eta,
            self.eta * self.family.sizes, 1.0, random_state_of(rng),
        )  # fmt: skip
        new = self.draw_weights(block, local._replace(z=z, counts=counts), state.hyper, rng)
        log_joint = float((counts * np.log(new.weights)).sum())
        log_joint += log_words(self.family, self.eta, words, self.family.group_sums(words))
        log_joint += self.log_prior(block, new, state.hyper)
        return new, self.statistics(words, log_joint, new)

    def global_step(self, stats: Statistics, state: Any, rng: Any) -> Any:
        """Theta is not drawn; during the warm-up the priors may be learnt from the rows."""
        hyper = self.next_priors(stats, state)
        return state._replace(counts=stats.words, hyper=hyper, sweep=state.sweep + 1)

    def objective(self, stats: Statistics, state: Any) -> float:
        """log p(w, v, l) with Theta marginalised."""
        return self.constant + stats.log_joint
