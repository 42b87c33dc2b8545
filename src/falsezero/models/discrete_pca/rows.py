"""Rows of counts under a Theta that is known: their weights, and how well they foretell tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.mean_field import MeanFieldSteps, Rows, Statistics, Words


class KnownTheta(MeanFieldSteps):
    """Mean field for the weights of rows alone, with Theta as it was learnt.

    `exposure` is the share of a row's tokens that is shown, where a Poisson block makes the number
    of tokens tell of the weights.
    """

    def __init__(self, family: Family, blocks: Blocks, hyper: Hyper, exposure: float = 1.0):
        super().__init__(family, blocks, hyper, eta=1.0)
        self.delta *= exposure

    def start(self, blocks: Blocks, theta: np.ndarray) -> Point:
        """Rows that know nothing of their tokens but their number."""
        factors = np.ascontiguousarray(theta, dtype=self.dtype)
        state = Words(factors, factors, 0.0, self.hyper)
        return Point(state, [self.start_rows(b, self.hyper) for b in blocks])

    def local_step(self, block: Block, local: Rows, state: Words, rng: Any) -> tuple[Rows, Any]:
        """q(v) and q(l) for the rows of a block; words ask for nothing."""
        new, view, log_z, words = self.row_step(block, local, state, 0)
        return new, Statistics(
            words, log_z, view.divergence, view.sum_log, view.sum_mean, block.shape[0]
        )

    def project(self, trial: Point, reference: Point) -> Point:
        """Shapes stay above a share of what they were."""
        rows = [
            r._replace(shape=np.maximum(t.shape, 0.3 * r.shape).astype(self.dtype))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(reference.state, rows)


def expected_weights(family: Family, local: Rows) -> np.ndarray:
    """E[m] of a Dirichlet, E[l] of gammas."""
    if family.gamma:
        return local.shape / local.rate
    return local.shape / local.shape.sum(axis=1, keepdims=True)


def split_tokens(
    values: sparse.csr_array, seed: int = 0
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Deal every token of a table of counts to one of two halves, by a fair coin.

    The coins of a row depend on its content and the seed alone, not on the rows around it.

    >>> one, other = split_tokens(sparse.csr_array(np.full((2, 3), 8)))
    >>> (one + other).toarray().tolist()
    [[8.0, 8.0, 8.0], [8.0, 8.0, 8.0]]
    """
    data = np.asarray(values.data, dtype=float)
    first = data - np.floor(data)
    for start, end in pairwise(values.indptr):
        row = slice(start, end)
        content = crc32(data[row].tobytes(), crc32(values.indices[row].astype("<i4").tobytes()))
        rng = np.random.default_rng([seed, content])
        # Beyond 2^53 a double cannot hold every half, and coins add nothing to its last digit.
        whole = np.floor(np.minimum(data[row], 2.0**53))
        coins = rng.binomial(whole.astype(np.int64), 0.5)
        first[row] += np.where(data[row] <= 2.0**53, coins, data[row] / 2)
    halves = []
    for part in (first, data - first):
        half = sparse.csr_array((part, values.indices.copy(), values.indptr.copy()), values.shape)
        half.eliminate_zeros()
        halves.append(half)
    return halves[0], halves[1]


def token_log_likelihood(
    values: sparse.csr_array, weights: np.ndarray, components: np.ndarray
) -> np.ndarray:
    """log p of the tokens of each row under mixture weights: sum_j w_j log(sum_k m_k theta_jk)."""
    share = weights / weights.sum(axis=1, keepdims=True)
    total = np.zeros(values.shape[0])
    for start in range(0, values.shape[0], 256):
        part = values[start : start + 256]
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        table = share[start : start + 256] @ components
        log_p = part.data * np.log(np.maximum(table[rows, part.indices], 1e-300))
        total[start : start + 256] = np.bincount(rows, log_p, minlength=part.shape[0])
    return total
