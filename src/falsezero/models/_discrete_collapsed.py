"""Discrete PCA by collapsed Gibbs sampling: weights and Theta marginalised, only v is sampled.

One shard is the exact sampler. With S shards the rows are cut into S parts and the words too; in
each of S phases every thread takes one part of the rows and a part of the words that no other
thread has (Yan, Xu and Qi, 2009). The only approximation is that a thread sees the others' changes
to the totals n_k at the end of a phase. Shards, not threads, decide the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from falsezero.backends import map_blocks
from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels.collapsed_gibbs import (
    gather_documents,
    gather_words,
    log_rising,
    log_rising_documents,
    sweep_words,
)
from falsezero.kernels.topics import sweep_rows_collapsed
from falsezero.models._discrete_family import Family, Hyper, gamma_rate, polya_alpha
from falsezero.models._discrete_gibbs import (
    LEARN_EVERY,
    DrawnRows,
    RowCollapsedSteps,
    Statistics,
    random_state_of,
)


class Shard(NamedTuple):
    """Some rows' tokens, word by word, and where each row keeps the components that it uses."""

    rows: slice
    word_ptr: np.ndarray
    docs: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, csr: Any, rows: slice, n_components: int) -> Shard:
        """Take some rows of a table of counts."""
        part = csr[rows].tocsc()
        counts = part.data.astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(counts)])
        lengths = np.asarray(part.sum(axis=1)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, n_components) + 1)])
        docs = np.repeat(part.indices, counts).astype(np.int32)
        return cls(rows, ends[part.indptr], docs, starts)


class Lists(NamedTuple):
    """The component of every token of a shard, and the components each row uses, how often."""

    z: np.ndarray
    sizes: np.ndarray
    topics: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, shard: Shard, z: np.ndarray) -> Lists:
        """Count the components of every row."""
        places = int(shard.starts[-1])
        lists = cls(
            z,
            np.zeros(len(shard.starts) - 1, np.int32),
            np.zeros(places, np.int32),
            np.zeros(places, np.float32),
        )
        gather_documents(shard.docs, z, shard.starts, *lists[1:])
        return lists

    def pairs(self, shard: Shard) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, component and count of everything that is not zero."""
        rows = np.repeat(np.arange(len(self.sizes)), self.sizes)
        first = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        places = np.arange(len(rows)) + np.repeat(shard.starts[:-1] - first, self.sizes)
        return rows, self.topics[places], self.counts[places].astype(float)


class Counts(NamedTuple):
    """The state: tokens by word and by group, updated in place; priors; number of sweeps."""

    words: np.ndarray
    totals: np.ndarray
    hyper: Hyper
    sweep: int


class Trace(NamedTuple):
    """What a sweep ended with: its log joint probability and the priors to go on with."""

    log_joint: float
    hyper: Hyper


class CollapsedSteps:
    """Sample v alone; the table is one block, cut into `n_shards` inside.

    `run` maps a function over shards (threads, or this one). `temper` raises p(w | v) to a power,
    for annealing.
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
        n_shards: int = 1,
        run: Callable[..., list[Any]] = map_blocks,
    ):
        self.family, self.hyper, self.eta = family, hyper, eta
        self.warmup, self.learn, self.run = warmup, learn, run
        self.temper = 1.0
        csr = blocks[0].csr
        n_shards = max(1, min(n_shards, csr.shape[0], csr.shape[1]))
        self.shards = [
            Shard.of(csr, rows, len(hyper.alpha))
            for rows in _even_cuts(np.asarray(csr.sum(axis=1), dtype=float), n_shards)
        ]
        self.word_parts = _even_cuts(np.asarray(csr.sum(axis=0), dtype=float), n_shards)
        self.tokens = np.asarray(csr.sum(axis=1), dtype=float)
        self.constant = family.constant(csr)

    # -- where to begin -------------------------------------------------------------------------

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Counts, list[list[Lists]]]:
        """Every token in a component of its own choice."""
        n_components = len(self.hyper.alpha)
        pieces = [rng.integers(n_components, size=len(s.docs)) for s in self.shards]
        return self.arrange([z.astype(np.int32) for z in pieces])

    def arrange(self, pieces: list[np.ndarray]) -> tuple[Counts, list[list[Lists]]]:
        """Everything that follows from the components of the tokens."""
        words = np.zeros((len(self.family.groups), len(self.hyper.alpha)), np.float32)
        lists = []
        for shard, z in zip(self.shards, pieces, strict=True):
            gather_words(shard.word_ptr, z, words)
            lists.append(Lists.of(shard, z))
        return Counts(words, self.family.group_sums(words), self.hyper, 0), [lists]

    # -- draws ----------------------------------------------------------------------------------

    def scale(self, hyper: Hyper) -> np.ndarray:
        """1 / (delta_P + beta_k) for gammas; a Dirichlet has none."""
        if not self.family.gamma:
            return np.ones(len(hyper.alpha))
        return 1.0 / (hyper.beta + self.family.delta)

    def prior(self, hyper: Hyper) -> tuple[Any, ...]:
        """alpha, scale, eta, spread and temper as the kernel takes them."""
        single = np.float32
        scale = self.scale(hyper).astype(single)
        spread = (self.eta * self.family.sizes).astype(single)
        return hyper.alpha.astype(single), scale, single(self.eta), spread, single(self.temper)

    def local_step(
        self, block: Block, local: list[Lists], state: Counts, rng: np.random.Generator
    ) -> tuple[list[Lists], Trace]:
        """One sweep over all tokens, in place."""
        n = len(self.shards)
        prior = self.prior(state.hyper)
        streams = [random_state_of(rng) for _ in range(n)]
        for phase in range(n):
            parts = [self.word_parts[(s + phase) % n] for s in range(n)]
            totals = [state.totals.copy() for _ in range(n)]

            def work(shard, lists, part, own, stream, prior=prior):  # type: ignore[no-untyped-def]
                sweep_words(
                    (part.start, part.stop), shard.word_ptr, shard.docs, lists.z, shard.starts,
                    *lists[1:], state.words, own, self.family.groups, prior, stream,
                )  # fmt: skip

            self.run(work, self.shards, local, parts, totals, streams)
            state.totals[...] = sum(totals) - (n - 1) * state.totals
        hyper = state.hyper
        if state.sweep < self.warmup and state.sweep % LEARN_EVERY == LEARN_EVERY - 1:
            hyper = self.learn_priors(local, state)
        return local, Trace(self.log_joint(local, state), hyper)

    def global_step(self, stats: Trace, state: Counts, rng: Any) -> Counts:
        """Nothing is left to draw; the sweep is counted."""
        return state._replace(hyper=stats.hyper, sweep=state.sweep + 1)

    def learn_priors(self, local: list[Lists], state: Counts) -> Hyper:
        """alpha and beta from the tokens by row and component (slide "Algorithm Issues, cont.")."""
        alpha, beta = state.hyper
        pairs = [lists.pairs(s) for lists, s in zip(local, self.shards, strict=True)]
        components = np.concatenate([k for _, k, _ in pairs])
        counts = np.concatenate([c for _, _, c in pairs])
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

    def log_joint(self, local: list[Lists], state: Counts) -> float:
        """log p(w, v), from the slide "Likelihood with Components Marginalised", Theta too."""
        return self.constant + self.log_tokens(local, state.hyper) + self.log_words(state)

    def log_tokens(self, local: list[Lists], hyper: Hyper) -> float:
        """log p(v) up to the words: what rows contribute."""
        alpha, beta = hyper
        n = len(self.tokens)
        total = sum(
            log_rising_documents(s.starts, *lists[1:], alpha)
            for s, lists in zip(self.shards, local, strict=True)
        )
        if not self.family.gamma:
            a = alpha.sum()
            return total + float((gammaln(a) - gammaln(a + self.tokens)).sum())
        # Sum over rows and components of alpha log(beta / rate) - c log(rate).
        rate = beta + self.family.delta
        used = np.zeros(len(alpha))
        for s, lists in zip(self.shards, local, strict=True):
            _, components, counts = lists.pairs(s)
            used += np.bincount(components, counts, minlength=len(alpha))
        return total + float(n * alpha @ np.log(beta / rate) - used @ np.log(rate))

    def log_words(self, state: Counts) -> float:
        """log p(w | v) with Theta marginalised."""
        spread = self.eta * self.family.sizes[:, None]
        total = log_rising(state.words, self.eta)
        return total + float((gammaln(spread) - gammaln(spread + state.totals)).sum())

    def objective(self, stats: Trace, state: Counts) -> float:
        """log p(w, v) after the sweep."""
        return stats.log_joint

    def project(self, trial: Point, reference: Point) -> Point:
        """Samplers take no strides."""
        return reference

    # -- what a draw says -----------------------------------------------------------------------

    def components(self, state: Counts) -> np.ndarray:
        """E[Theta | v], words x components."""
        spread = self.eta * self.family.sizes[:, None] + state.totals
        return (state.words + np.float32(self.eta)) / spread.astype(np.float32)[self.family.groups]

    def row_weights(self, local: list[list[Lists]], state: Counts) -> np.ndarray:
        """E[m | v] or E[l | v], rows x components."""
        alpha = state.hyper.alpha
        weights = np.tile(alpha, (len(self.tokens), 1))
        for shard, lists in zip(self.shards, local[0], strict=True):
            rows, components, counts = lists.pairs(shard)
            weights[rows + shard.rows.start, components] += counts
        if self.family.gamma:
            return weights * self.scale(state.hyper)
        return weights / weights.sum(axis=1, keepdims=True)


class GroupCollapsedSteps(RowCollapsedSteps):
    """The same for gammas of unequal rates with multinomial groups, where u differs by row.

    Given u a token's draw needs neither l nor Theta; l and u are drawn once a sweep, row by row.
    """

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Any, list[DrawnRows]]:
        """Every token in a component of its own choice."""
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
            self.eta * self.family.sizes, random_state_of(rng),
        )  # fmt: skip
        new = self.draw_weights(block, local._replace(z=z, counts=counts), state.hyper, rng)
        log_joint = float((counts * np.log(new.weights)).sum())
        return new, self.statistics(words, log_joint + self._log_rest(block, new, state), new)

    def _log_rest(self, block: Block, rows: DrawnRows, state: Any) -> float:
        spread = self.eta * self.family.sizes[:, None]
        totals = self.family.group_sums(state.counts)
        total = log_rising(state.counts, self.eta)
        total += float((gammaln(spread) - gammaln(spread + totals)).sum())
        return total + self.log_prior(block, rows, state.hyper)

    def global_step(self, stats: Statistics, state: Any, rng: Any) -> Any:
        """Nothing of Theta is drawn; the priors may follow the rows during the warm-up."""
        hyper = state.hyper
        if state.sweep < self.warmup and state.sweep % LEARN_EVERY == LEARN_EVERY - 1:
            hyper = self._learn(stats, hyper)
        return state._replace(counts=stats.words, hyper=hyper, sweep=state.sweep + 1)

    def objective(self, stats: Statistics, state: Any) -> float:
        """log p(w, v, l) with Theta marginalised."""
        return self.constant + stats.log_joint


def _even_cuts(weights: np.ndarray, parts: int) -> list[slice]:
    """Cut a range into parts of about equal total weight."""
    done = np.cumsum(weights + 1e-9)
    inner = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts)
    bounds = [0, *(int(i) + 1 for i in inner), len(weights)]
    return [slice(a, max(a, b)) for a, b in pairwise(bounds)]
