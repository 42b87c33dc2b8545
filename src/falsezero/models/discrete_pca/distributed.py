"""Discrete PCA by collapsed Gibbs sampling over files: approximate distributed sampling.

Every file is swept on its own, with the total counts of all files at the end of the previous sweep
and its own counts as they change; the counts of all files are added up after each sweep (Newman,
Asuncion, Smyth and Welling, "Distributed Algorithms for Topic Models", JMLR 2009). That is the only
approximation: within a sweep a file does not see what the others change. Only the table of
counts, words x components, is sent, whatever the number of rows. The answer depends on the files,
not on the number of workers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from falsezero.data.blocks import Block, Blocks
from falsezero.data.row_files import opened
from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.collapsed import MarginalisedTheta
from falsezero.models.discrete_pca.family import Family, Hyper, gamma_rate
from falsezero.models.discrete_pca.gibbs import is_learning_sweep, random_state_of
from falsezero.models.discrete_pca.mean_field import first_rows
from falsezero.models.discrete_pca.posterior import Posterior
from falsezero.models.discrete_pca.settings import check_counts
from falsezero.models.discrete_pca.shards import RowLists, Shard, unlike_rows


class MergedCounts(NamedTuple):
    """The state: tokens of all files by word and by group, priors, and sums of the last sweep.

    Before the first sweep `words` holds the rows that components start from.
    """

    words: np.ndarray
    totals: np.ndarray
    hyper: Hyper
    sweep: int
    constant: float
    concentration: float
    share: np.ndarray


class TokenRows(NamedTuple):
    """The component of every token, word by word, and the sum of the rows' weights so far."""

    z: np.ndarray
    weights: np.ndarray


class FileSums(NamedTuple):
    """Additive over files."""

    words: np.ndarray
    log_rows: float
    """What rows contribute to the log joint probability."""
    constant: float
    concentration: float
    share: np.ndarray
    """Sums over rows of squared shares of components, and of shares."""


class DistributedSteps(MarginalisedTheta):
    """Sweep each file against the merged counts of all.

    The first sweep assigns tokens to components that start as rows of the table. Draws are kept as
    `sample` keeps them: every `thin`-th after `warmup`.
    """

    def __init__(
        self,
        family: Family,
        blocks: Blocks,
        hyper: Hyper,
        eta: float,
        warmup: int,
        thin: int,
        learn: tuple[bool, bool],
    ):
        super().__init__(family, hyper, eta)
        if learn[0]:
            raise ValueError(
                "learn_alpha=True needs the whole table in memory, not Shards; give alpha=."
            )
        self.warmup, self.thin, self.learns_beta = warmup, thin, learn[1]
        self.n_rows = blocks.shape[0]

    # -- the start ------------------------------------------------------------------------------

    def init(
        self, blocks: Blocks, rng: np.random.Generator
    ) -> tuple[MergedCounts, list[TokenRows]]:
        """Components start as dissimilar rows; no token has one yet."""
        return self.init_state(blocks, rng), [self.init_rows(None, rng) for _ in range(len(blocks))]

    def init_state(self, blocks: Blocks, rng: np.random.Generator) -> MergedCounts:
        """Components start as dissimilar rows of the first files (those that fit into memory)."""
        csr = sparse.vstack(first_rows(blocks), format="csr")
        k = len(self.hyper.alpha)
        words = csr[unlike_rows(csr, k, rng)].toarray().T.astype(np.float32)
        totals = self.family.group_sums(words)
        return MergedCounts(words, totals, self.hyper, 0, 0.0, 0.0, np.zeros(k))

    def init_rows(self, block: Any, rng: Any) -> TokenRows:
        """Empty row quantities, as before the first sweep."""
        k = len(self.hyper.alpha)
        return TokenRows(np.empty(0, _dtype_of(k)), np.empty((0, k), np.float32))

    # -- draws ----------------------------------------------------------------------------------

    def local_step(
        self, block: Block, local: TokenRows, state: MergedCounts, rng: np.random.Generator
    ) -> tuple[TokenRows, FileSums]:
        """Redraw the tokens of one file, given the merged counts."""
        tokens, stream = self.tokens_of(block), random_state_of(rng)
        if state.sweep == 0:
            rows = tokens.start(self._dealt(tokens, state, stream))
            constant = self.family.constant(block.csr)
        else:
            rows, constant = tokens.start(local.z.astype(np.int32)), 0.0
            counts = state.words.copy(), state.totals.copy()
            tokens.sweep(0, rows, *counts, self.family.groups, self.prior(state.hyper), stream)
        k = len(self.hyper.alpha)
        cells = np.bincount(tokens.words * k + rows.z, minlength=state.words.size)
        words = cells.reshape(state.words.shape).astype(np.int32)
        weights = self.row_weights(block, rows, state.hyper)
        share = weights / weights.sum(axis=1, keepdims=True)
        sums = FileSums(
            words,
            self._log_rows(block, rows, state.hyper),
            constant,
            float(np.square(share).sum()),
            share.sum(axis=0),
        )
        kept = local.weights
        if self._keeps(state.sweep):
            kept = (weights if not len(kept) else kept + weights).astype(np.float32)
        return TokenRows(rows.z.astype(_dtype_of(k)), kept), sums

    def global_step(self, stats: FileSums, state: MergedCounts, rng: Any) -> MergedCounts:
        """The counts of all files, merged."""
        words = stats.words.astype(np.float32)
        totals, hyper = self.family.group_sums(words), state.hyper
        if self.learns_beta and is_learning_sweep(state.sweep, self.warmup):
            mean = totals.sum(axis=0) / self.n_rows
            hyper = Hyper(hyper.alpha, gamma_rate(hyper.alpha, mean))
        return MergedCounts(
            words,
            totals,
            hyper,
            state.sweep + 1,
            state.constant + stats.constant,
            stats.concentration / self.n_rows,
            stats.share / self.n_rows,
        )

    def objective(self, stats: FileSums, state: MergedCounts) -> float:
        """log p(w, v) after the sweep."""
        after = self.global_step(stats, state, None)
        gammas = self.log_gammas(state.hyper, after.totals, self.n_rows)
        return after.constant + stats.log_rows + gammas + self.log_words(after)

    def _keeps(self, sweep: int) -> bool:
        return sweep >= self.warmup and (sweep - self.warmup + 1) % self.thin == 0

    def _dealt(self, tokens: Shard, state: MergedCounts, stream: Any) -> np.ndarray:
        """Initial components of the tokens, where components are rows of the table."""
        seeds = sparse.csr_array(state.words.T)
        inverse = 1.0 / (state.words.sum(axis=0, dtype=float) + self.eta * len(state.words))
        return tokens.seed(seeds, inverse, self.eta, stream)

    # -- rows -----------------------------------------------------------------------------------

    def tokens_of(self, block: Block) -> Shard:
        """The tokens of a file, laid out once and kept as long as its rows are in memory."""
        k = len(self.hyper.alpha)
        key = f"tokens, {k} components"
        if key not in block.derived:
            check_counts(block.csr.data, "DiscretePCA", "collapsed_gibbs")
            n_rows, n_words = block.csr.shape
            block.derived[key] = Shard(block.csr, slice(0, n_rows), [slice(0, n_words)], k)
        tokens: Shard = block.derived[key]
        return tokens

    def row_weights(self, block: Block, rows: RowLists, hyper: Hyper) -> np.ndarray:
        """E[m | v] or E[l | v] of the rows of one file."""
        at, components, counts = self.tokens_of(block).pairs(rows)
        weights = np.tile(hyper.alpha, (block.csr.shape[0], 1))
        weights[at, components] += counts
        return self.normalised(weights, hyper)

    def _log_rows(self, block: Block, rows: RowLists, hyper: Hyper) -> float:
        total = self.tokens_of(block).log_rising(rows, hyper.alpha)
        if self.family.gamma:
            return total
        a, lengths = hyper.alpha.sum(), np.asarray(block.csr.sum(axis=1), dtype=float)
        return total + float((gammaln(a) - gammaln(a + lengths)).sum())


class MergedPosterior(Posterior):
    """Means over the kept draws; the weights of the rows are summed where the rows are."""

    def __init__(self, steps: DistributedSteps, blocks: Blocks):
        super().__init__(steps)
        self.blocks = blocks
        self._last: Point | None = None

    def add(self, point: Point) -> None:
        """Take one draw in."""
        state = point.state
        self._last = point
        self._take(state, state.concentration, state.share)

    @property
    def row_weights(self) -> np.ndarray:
        """Mean weights of the rows over the draws."""
        assert self._last is not None
        return np.concatenate([*map(self._of_file, self.blocks, self._last.local)])

    def _of_file(self, block: Block, part: Any) -> np.ndarray:
        rows = opened(part)
        if len(rows.weights):
            return np.asarray(rows.weights / self.n_draws, dtype=float)
        # Stopped during the warm-up: the draw where the chain ended.
        lists = self.steps.tokens_of(block).start(rows.z.astype(np.int32))
        return self.steps.row_weights(block, lists, self.hyper)


def _dtype_of(n_components: int) -> Any:
    """The smallest type for a component's number, because one per token is sent or written."""
    return np.uint16 if n_components <= 2**16 else np.int32
