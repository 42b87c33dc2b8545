"""The exact noisy-or log likelihood, by enumeration or by importance sampling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, logsumexp

from falsezero.data.blocks import Block
from falsezero.models.noisy_or.steps import NoisyOrState

ENUMERABLE = 20
"""Sources whose codes can be listed: twice the work for each more."""

_CELLS = 2_000_000
_PRIOR_SHARE = 0.1


def exact_log_likelihood(block: Block, state: NoisyOrState) -> np.ndarray:
    """Eq. 1 for each row of a block: the sum over all on/off codes."""
    n_rows = block.shape[0]
    total = np.full(n_rows, -np.inf)
    for codes in _codes(len(state.theta), max(1, _CELLS // max(n_rows, block.shape[1]))):
        rate = codes @ state.theta + state.leak
        # log p(x | s) = sum over ones of log(e^r - 1), less the rates of all observed cells.
        joint = np.asarray(block.csr @ _log_expm1(rate).T) - rate.sum(axis=1)
        if block.missing_csr is not None:
            joint += np.asarray(block.missing_csr.astype(float) @ rate.T)
        joint += codes @ state.odds - np.logaddexp(0, state.odds).sum()
        total = np.logaddexp(total, logsumexp(joint, axis=1))
    return total


def importance_log_likelihood(
    block: Block, state: NoisyOrState, posterior: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Eq. 1 for each row by importance sampling from its posterior, mixed with a little prior.

    The estimate of a row's probability is unbiased, so that of its logarithm is low on average.
    """
    chance = (1 - _PRIOR_SHARE) * posterior + _PRIOR_SHARE * expit(state.odds)
    totals = np.empty(len(chance))
    theta_total, leak_total = state.theta.sum(axis=1), state.leak.sum()
    for i, p in enumerate(chance):
        codes = (rng.random((n_draws, len(p))) < p).astype(float)
        ones = block.csr.indices[block.csr.indptr[i] : block.csr.indptr[i + 1]]
        joint = _log_expm1(codes @ state.theta[:, ones] + state.leak[ones]).sum(axis=1)
        joint -= codes @ theta_total + leak_total
        if block.missing_csr is not None:
            missing = block.missing_csr
            unseen = missing.indices[missing.indptr[i] : missing.indptr[i + 1]]
            joint += codes @ state.theta[:, unseen].sum(axis=1) + state.leak[unseen].sum()
        joint += codes @ (state.odds - np.log(p) + np.log1p(-p))
        joint -= np.logaddexp(0, state.odds).sum() + np.log1p(-p).sum()
        totals[i] = logsumexp(joint) - np.log(n_draws)
    return totals


def _codes(n_sources: int, size: int) -> Iterator[np.ndarray]:
    """All on/off codes, in chunks."""
    bits = np.arange(n_sources)
    for first in range(0, 2**n_sources, size):
        numbers = np.arange(first, min(first + size, 2**n_sources))
        yield ((numbers[:, None] >> bits) & 1).astype(float)


def _log_expm1(rate: np.ndarray) -> np.ndarray:
    """log(e^r - 1) without overflow and without losing small rates."""
    return rate + np.log(-np.expm1(-rate))
