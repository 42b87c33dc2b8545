"""Discrete PCA by optimisation: mean field, and EM for the joint mode.

Both are one algorithm. Rows have a shape a_ik and, where l are gammas, a rate b_ik; a column has
lambda_jk. Mean field interprets them as q(l_k) = Gamma(a, b) or q(m) = Dirichlet(a) and
q(theta_k) = Dirichlet(lambda_k) and passes exp(E log) to the kernel; EM interprets them as
a point, the mode of p(w, l, Theta) over log l and log Theta, and passes the point itself.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from falsezero.backends import map_blocks
from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer, iterate
from falsezero.kernels.dirichlet import dirichlet_factors
from falsezero.kernels.topics import topic_pass
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.family import Family, Hyper, learnt_priors
from falsezero.models.discrete_pca.shards import anchored_counts

_TINY = 1e-100
_START_SWEEPS = 5
_START_ENTRIES = 2_000_000
"""Number of stored cells, of a table in files, from which its components start."""
_TOKENS_PER_CELL = 20
"""Tokens per stored cell in the sampler of the start; larger counts are scaled down."""


class Words(NamedTuple):
    """The state: lambda_jk, the factors for the kernel, the divergence of q(Theta), the priors."""

    shape: np.ndarray
    factors: np.ndarray
    divergence: float
    hyper: Hyper
    cycle: int = 0


class Rows(NamedTuple):
    """Row quantities of a block: a_ik and b_ik (the rate is not used where m is a Dirichlet)."""

    shape: np.ndarray
    rate: np.ndarray


class RowView(NamedTuple):
    """Quantities derived from rows: factors for the kernel, divergence, sums for the priors."""

    factors: np.ndarray
    divergence: float
    sum_log: np.ndarray
    sum_mean: np.ndarray


class Statistics(NamedTuple):
    """Additive over blocks."""

    words: np.ndarray
    log_z: float
    divergence: float
    sum_log: np.ndarray
    sum_mean: np.ndarray
    n_rows: int


def first_rows(blocks: Blocks) -> list[sparse.csr_array]:
    """Rows from which components start: all of them, or as many files as fit into memory."""
    found: list[sparse.csr_array] = []
    for block in blocks:
        found.append(block.csr)
        if blocks.in_files and sum(part.nnz for part in found) > _START_ENTRIES:
            break
    return found


class MeanFieldSteps:
    """Coordinate ascent on the evidence bound (slides "Mean Field"); q(Theta) is Dirichlet.

    `inner` passes over a block's rows are taken before Theta moves: 1 is the slides' mean field,
    many is "with inner loop convergence", which the slides use in the first cycle only
    (`first_only`). With `start_sweeps` = 0 the fit starts from noise, as in the slides.
    """

    state_params = {"shape": 1}
    local_params = {"shape": 1}

    def __init__(
        self,
        family: Family,
        blocks: Blocks,
        hyper: Hyper,
        eta: float,
        inner: int = 1,
        learn: tuple[bool, bool] = (False, False),
        first_only: bool = False,
    ):
        self.family, self.hyper, self.eta = family, hyper, eta
        self.inner, self.learn, self.delta = inner, learn, family.delta
        self.first_only = first_only
        self.start_sweeps = _START_SWEEPS
        self.dtype = blocks.dtype
        self.lengths = {b.start: family.lengths(b.csr) for b in blocks}
        self.constant = sum(family.constant(b.csr) for b in blocks)

    # -- the start ------------------------------------------------------------------------------

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Words, list[Rows]]:
        """Some sweeps of collapsed Gibbs sampling from anchor words, or noise.

        From noise, coordinate ascent ends in a poor optimum near the start. Words that occur beside
        anchor words are nearly the components already, and a few sweeps find out which rows have
        which component.
        """
        if self.start_sweeps and any(b.csr.nnz for b in blocks):
            return self._sampled_start(blocks, rng)
        total, _ = blocks.column_counts
        n_components = len(self.hyper.alpha)
        noise = rng.standard_gamma(100.0, (len(total), n_components)) / 100.0
        shape = self.eta + noise * (total / n_components)[:, None]
        local = [self.start_rows(b, self.hyper) for b in blocks]
        return self.read_words(shape.astype(self.dtype), self.hyper), local

    def _sampled_start(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Words, list[Rows]]:
        csr = sparse.csr_array(sparse.vstack(first_rows(blocks), format="csr"))
        n_tokens = float(csr.sum(dtype=float))
        n_rows = csr.shape[0]
        times = float(blocks.column_counts[0].sum()) / n_tokens if n_rows < blocks.shape[0] else 1.0
        # Round up, so that every stored cell keeps at least one token.
        share = min(1.0, _TOKENS_PER_CELL * csr.nnz / n_tokens)
        csr.data = np.ceil(csr.data * share)
        whole = Blocks.cut(csr, n_rows)
        steps = CollapsedSteps(self.family._replace(gamma=False), whole, self.hyper, self.eta)
        begin = Point(*steps.seeded(anchored_counts(csr, len(self.hyper.alpha), rng), rng))
        advance = advancer(steps, whole, map_blocks, rng=rng)
        last = deque(islice(iterate(advance, begin), self.start_sweeps), maxlen=1)
        point, scale = last.pop().point, n_tokens / float(csr.sum(dtype=float))
        counts = np.zeros((n_rows, len(self.hyper.alpha)))
        rows, components, tokens = steps.pairs(point.local[0])
        counts[rows, components] = tokens * scale
        local = [self.start_rows(b, self.hyper) for b in blocks]
        for i, block in enumerate(blocks):
            if block.rows.stop <= n_rows:
                shape = (self.hyper.alpha + counts[block.rows]).astype(self.dtype)
                local[i] = local[i]._replace(shape=shape)
        shape = (self.eta + times * scale * point.state.words).astype(self.dtype)
        return self.read_words(shape, self.hyper), local

    def start_rows(self, block: Block, hyper: Hyper) -> Rows:
        """Rows whose tokens are spread evenly over the components."""
        tokens = np.asarray(block.csr.sum(axis=1), dtype=float)[:, None]
        shape = hyper.alpha + tokens / len(hyper.alpha)
        pull = self._pull(block, np.tile(hyper.alpha / hyper.beta, (len(shape), 1)))
        rate = np.broadcast_to(hyper.beta + self.delta + pull, shape.shape)
        return Rows(shape.astype(self.dtype), np.array(rate, dtype=self.dtype))

    # -- derived quantities ---------------------------------------------------------------------

    def read_words(self, shape: np.ndarray, hyper: Hyper) -> Words:
        """exp(E log theta_jk) and KL(q(Theta) || prior)."""
        factors = np.empty_like(shape)
        divergence = 0.0
        for g, size in enumerate(self.family.sizes.astype(int)):
            inside = slice(None) if len(self.family.names) == 1 else self.family.groups == g
            part = np.empty((size, shape.shape[1]), dtype=shape.dtype)
            counts = np.ascontiguousarray(shape[inside], dtype=float)
            divergence += dirichlet_factors(counts, np.full(size, self.eta), _TINY, part)
            factors[inside] = part
        return Words(shape, factors, divergence, hyper)

    def read_rows(self, block: Block, local: Rows, hyper: Hyper) -> RowView:
        """exp(E log) of the weights, their divergence from the prior, and their means."""
        if self.family.gamma:
            return self._read_gamma(block, local, hyper)
        counts = np.ascontiguousarray(local.shape.T, dtype=float)
        factors = np.empty(counts.shape, self.dtype)
        divergence = dirichlet_factors(counts, hyper.alpha, _TINY, factors)
        sum_log = np.log(factors).sum(axis=1, dtype=float) if self.learn[0] else np.zeros(1)
        return RowView(np.ascontiguousarray(factors.T), divergence, sum_log, np.zeros(1))

    def _read_gamma(self, block: Block, local: Rows, hyper: Hyper) -> RowView:
        """As for a Dirichlet, with -L log(sum_k E l_k) - delta sum_k E l_k as a divergence too."""
        a, b = local.shape.astype(float), local.rate.astype(float)
        alpha, beta = hyper
        mean, log = a / b, psi(a) - np.log(b)
        divergence = (a - alpha) * psi(a) - gammaln(a) + gammaln(alpha)
        divergence += alpha * (np.log(b) - np.log(beta)) + mean * (beta - b)
        scale = self.lengths[block.start] * np.log(mean.sum(axis=1))
        total = divergence.sum() + scale.sum() + self.delta * mean.sum()
        factors = np.maximum(np.exp(log), _TINY).astype(self.dtype)
        return RowView(factors, float(total), log.sum(axis=0), mean.sum(axis=0))

    def _pull(self, block: Block, mean: np.ndarray) -> np.ndarray:
        """L_i / sum_k E l_ik: the rate that the multinomial groups add (their 1 / (sum l)^L)."""
        return (self.lengths[block.start] / mean.sum(axis=1))[:, None]

    # -- the two half-steps ---------------------------------------------------------------------

    def local_step(self, block: Block, local: Rows, state: Words, rng: Any) -> tuple[Rows, Any]:
        """q(v) and q(l) for the rows of a block, and their share of the expected counts."""
        inner = 1 if self.first_only and state.cycle else self.inner
        for _ in range(inner - 1):
            new, *_ = self.row_step(block, local, state, 0)
            settled = np.abs(new.shape - local.shape).max() < 1e-3
            local = new
            if settled:
                break
        new, view, log_z, words = self.row_step(block, local, state, len(state.shape))
        # Priors are learnt from the new rows: with the old ones both would make the same
        # correction and overshoot.
        renewed = self.read_rows(block, new, state.hyper) if any(self.learn) else view
        stats = Statistics(
            words, log_z, view.divergence, renewed.sum_log, renewed.sum_mean, block.shape[0]
        )
        return new, stats

    def row_step(
        self, block: Block, local: Rows, state: Words, n_words: int
    ) -> tuple[Rows, RowView, float, np.ndarray]:
        """a_k = alpha_k + sum_j w_j n_jk for each row, and expected counts by word if `n_words`."""
        view = self.read_rows(block, local, state.hyper)
        csr = block.csr
        row_stat = np.empty_like(view.factors)
        words = np.zeros((n_words, row_stat.shape[1]), self.dtype)
        counts = csr.data.astype(self.dtype, copy=False)
        log_z = topic_pass(
            csr.indptr, csr.indices, counts, view.factors, state.factors, row_stat, words
        )
        shape = (state.hyper.alpha + row_stat * view.factors).astype(self.dtype)
        rate = local.rate
        if self.family.gamma:
            pull = self._pull(block, local.shape / local.rate)
            rate = (state.hyper.beta + self.delta + pull).astype(self.dtype)
            rate = np.broadcast_to(rate, shape.shape)
        return Rows(shape, rate), view, float(log_z.sum()), words

    def global_step(self, stats: Statistics, state: Words, rng: Any) -> Words:
        """lambda_jk = eta + expected counts; the priors from the rows' means, where learnt."""
        log, mean = stats.sum_log / stats.n_rows, stats.sum_mean / stats.n_rows
        hyper = learnt_priors(self.family, state.hyper, self.learn, log, mean)
        new = self.read_words(self.eta + stats.words * state.factors, hyper)
        return new._replace(cycle=state.cycle + 1)

    def objective(self, stats: Statistics, state: Words) -> float:
        """The evidence bound, at the point where the statistics were computed."""
        return self.constant + stats.log_z - stats.divergence - state.divergence

    def project(self, trial: Point, reference: Point) -> Point:
        """Keep shapes above a share of their previous values."""
        shape = np.maximum(trial.state.shape, 0.3 * reference.state.shape)
        state = self.read_words(shape.astype(self.dtype), reference.state.hyper)
        state = state._replace(cycle=reference.state.cycle)
        rows = [
            r._replace(shape=np.maximum(t.shape, 0.3 * r.shape).astype(self.dtype))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(state, rows)


class EMSteps(MeanFieldSteps):
    """EM for the mode of p(w, l, Theta) with v as hidden variables (slide "Algorithm Issues").

    The mode is taken over log l (or log m) and log Theta, where it exists for every alpha > 0 and
    eta > 0: a prior then counts alpha_k tokens of each component, not alpha_k - 1.
    """

    def read_words(self, shape: np.ndarray, hyper: Hyper) -> Words:
        """theta_jk and minus its log prior density."""
        factors = self.family.normalise(np.asarray(shape, dtype=float))
        factors = np.maximum(factors, _TINY)
        log_prior = self.eta * float(np.log(factors).sum())
        log_prior += self.family.log_theta_norm(self.eta, shape.shape[1])
        return Words(shape, factors.astype(self.dtype), -log_prior, hyper)

    def read_rows(self, block: Block, local: Rows, hyper: Hyper) -> RowView:
        """The weights themselves and minus their log prior density."""
        a = local.shape.astype(float)
        alpha, beta = hyper
        none = np.zeros(1)
        if not self.family.gamma:
            m = a / a.sum(axis=1, keepdims=True)
            log_prior = (np.log(m) @ alpha).sum()
            log_prior += len(a) * self.family.log_weight_norm(hyper)
            return RowView(m.astype(self.dtype), -float(log_prior), none, none)
        weight = a / local.rate
        total = weight.sum(axis=1)
        log_prior = (np.log(weight) @ alpha - weight @ (beta + self.delta)).sum()
        log_prior += len(a) * self.family.log_weight_norm(hyper)
        log_prior -= (self.lengths[block.start] * np.log(total)).sum()
        return RowView(weight.astype(self.dtype), -float(log_prior), none, none)
