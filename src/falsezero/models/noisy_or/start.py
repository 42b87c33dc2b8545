"""The start of a noisy-or fit: more sources than asked for, seeded far apart, then thinned out.

From random loadings, EM merges patterns and wastes sources on copies, and no later step separates
them. Rows of few ones, chosen far apart as seeds, cover the patterns better; with half as many
sources again as asked for they cover nearly all; and dropping the least useful source, a few EM
steps at a time, leaves one source per pattern.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.backends import map_blocks
from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Iteration, Point
from falsezero.inference.engine import advancer, iterate
from falsezero.models.noisy_or.steps import NoisyOrState, TruncatedSteps

_RUNS = 3
_SETTLE = 15
_ROUNDS = 8
_BETWEEN = 3
_POOL = 600

LINK = 0.05
"""A source is linked to the columns that it makes with at least this probability."""


def random_sources(n_sources: int, blocks: Blocks, rng: np.random.Generator) -> NoisyOrState:
    """All parameters at random non-zero values (section 3.2).

    Loadings are small and the leak is below the column means, because a one that every source
    explains is uninformative about all of them.
    """
    total, observed = blocks.column_counts
    mean = (total + 0.5) / (observed + 1)
    loadings = rng.uniform(0.01, 0.2, (n_sources, len(mean)))
    leak = rng.uniform(0.1, 0.9, len(mean)) * mean
    priors = rng.uniform(0.1, 0.5, n_sources)
    return NoisyOrState(
        -np.log1p(-loadings), -np.log1p(-leak), np.log(priors / (1 - priors)), hold=0
    )


def search_sources(n_sources: int, blocks: Blocks, rng: np.random.Generator) -> NoisyOrState:
    """The best of some short runs on a sample of the rows, by the bound."""
    some = _some_rows(blocks, max(1000, min(2 * blocks.shape[1], 4000)), rng)
    short = TruncatedSteps(n_sources, some)
    runs = [_thinned(short, some, rng) for _ in range(_RUNS)]
    best = max(runs, key=lambda run: run.objective)
    return _shut_off(best, blocks.shape[0])


def _thinned(steps: TruncatedSteps, blocks: Blocks, rng: np.random.Generator) -> Iteration:
    """Start with too many sources and drop the least useful, with the leak held fixed."""
    spare = steps.n_components // 2 + 2
    state = steps.boxed(_seeded(blocks, steps.n_components + spare, rng))
    run = _advance(steps, blocks, state, _SETTLE)
    for surplus in np.array_split(np.arange(spare), min(spare, _ROUNDS)):
        run = _advance(steps, blocks, _without(run, len(surplus)), _BETWEEN)
    return _advance(steps, blocks, run.point.state._replace(hold=0), _SETTLE)


def _advance(steps: TruncatedSteps, blocks: Blocks, state: NoisyOrState, count: int) -> Iteration:
    point = Point(state, steps.start_rows(blocks, state))
    steps_taken = islice(iterate(advancer(steps, blocks, map_blocks), point), count)
    return deque(steps_taken, maxlen=1).pop()


def _without(run: Iteration, leave: int) -> NoisyOrState:
    """The state without the least useful sources."""
    keep = np.sort(np.argsort(missed(_posterior(run)), kind="stable")[leave:])
    state = run.point.state
    return state._replace(theta=state.theta[keep], odds=state.odds[keep])


def _shut_off(run: Iteration, n_rows: int) -> NoisyOrState:
    """The state with sources that are not worth their links cut off; EM keeps them so."""
    state, posterior = run.point.state, _posterior(run)
    worth = is_needed(posterior, -np.expm1(-state.theta), n_rows)
    return state._replace(
        theta=np.where(worth[:, None], state.theta, 0.0), odds=np.where(worth, state.odds, -np.inf)
    )


def _posterior(run: Iteration) -> np.ndarray:
    return np.concatenate([part.posterior for part in run.point.local])


def missed(posterior: np.ndarray) -> np.ndarray:
    """Loss of the bound without each source, other things being equal.

    The posterior probability that a source is off is the share of a row's likelihood that remains
    without it.

    >>> missed(np.array([[0.5, 0.2], [0.5, 0.9]])).round(3)
    array([1.386, 2.526])
    """
    # In single precision, probabilities very near to one round to one.
    certain = np.minimum(posterior.astype(float), 1 - 1e-9)
    return -np.log1p(-certain).sum(axis=0)


def is_needed(posterior: np.ndarray, loadings: np.ndarray, n_rows: int) -> np.ndarray:
    """Whether each source is worth its links, at half log(rows) per parameter (BIC).

    A source that merely reproduces one odd row costs more than it gains. Where `posterior` covers
    only some of the `n_rows` rows, the gain is scaled up.
    """
    links = (loadings >= LINK).sum(axis=1)
    gain = missed(posterior) * n_rows / len(posterior)
    return (links > 0) & (gain > 0.5 * (links + 1) * np.log(n_rows))


def _seeded(blocks: Blocks, n_sources: int, rng: np.random.Generator) -> NoisyOrState:
    """Loadings from rows of few ones, far apart; the leak explains half of the ones."""
    total, observed = blocks.column_counts
    mean = (total + 0.5) / (observed + 1)
    rows = _far_apart(sparse.vstack([b.csr for b in blocks], format="csr"), n_sources, rng)
    loadings = np.where(rows > 0, 0.6, 0.05 * mean) + 0.02 * rng.random(rows.shape)
    odds = np.full(n_sources, np.log(0.25))
    return NoisyOrState(-np.log1p(-loadings), -np.log1p(-0.5 * mean), odds, hold=10**6)


def _far_apart(rows: Any, n_sources: int, rng: np.random.Generator) -> np.ndarray:
    """Dense rows of few ones, each the farthest (cosine) from those chosen before."""
    ones = np.diff(rows.indptr)
    able = np.flatnonzero(ones >= min(2, ones.max(initial=0)))
    few = able[ones[able] <= np.median(ones[able])]
    pool = rows[rng.permutation(few)[:_POOL]].astype(float)
    length = np.sqrt(np.maximum(np.diff(pool.indptr), 1))
    unit = sparse.csr_array(pool.multiply(1 / length[:, None]))
    chosen = [0]
    nearest = np.full(len(length), -1.0)
    for _ in range(n_sources - 1):
        cosine = np.asarray((unit @ unit[[chosen[-1]]].T).todense()).ravel()
        nearest = np.maximum(nearest, cosine)
        chosen.append(int(np.argmin(nearest + 1e-6 * rng.random(len(nearest)))))
    return pool[chosen].toarray()


def _some_rows(blocks: Blocks, count: int, rng: np.random.Generator) -> Blocks:
    """A random sample of rows, in order, as one block."""
    picked = np.arange(blocks.shape[0])
    if len(picked) > count:
        picked = np.sort(rng.choice(picked, count, replace=False))

    ones, holes = [], []
    for block in blocks:
        first, last = np.searchsorted(picked, [block.rows.start, block.rows.stop])
        inside = picked[first:last] - block.rows.start
        none = sparse.csr_array((len(inside), block.shape[1]), dtype=bool)
        ones.append(block.csr[inside])
        holes.append(none if block.missing_csr is None else block.missing_csr[inside])
    missing = sparse.csr_array(sparse.vstack(holes, format="csr"))
    rows = sparse.csr_array(sparse.vstack(ones, format="csr"))
    return Blocks([Block(0, rows, missing if missing.nnz else None)], blocks.dtype)
