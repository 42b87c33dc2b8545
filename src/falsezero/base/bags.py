"""Rows of counts as bags of tokens: one row score for all models, and document completion.

The score of a bag is the log probability of its tokens in one order plus the log of the number of
orders. It is conditional on the row's total, so that models with and without a distribution of
totals can be compared.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from falsezero.data.arrays import Matrix
from falsezero.data.blocks import Blocks

__all__ = ["CompletesRows", "log_orders", "row_seed", "split_tokens", "token_log_likelihood"]


def log_orders(values: Any) -> np.ndarray:
    """Log multinomial coefficient of each row, log(L! / prod_j w_j!).

    >>> np.exp(log_orders(sparse.csr_array([[2, 1, 0], [0, 0, 5]]))).round(6)
    array([3., 1.])
    """
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    orders: np.ndarray = gammaln(np.asarray(values.sum(axis=1), dtype=float).ravel() + 1)
    orders -= np.bincount(rows, gammaln(values.data + 1.0), minlength=values.shape[0])
    return orders


def row_seed(seed: int, columns: np.ndarray, counts: np.ndarray) -> list[int]:
    """A seed that depends on a row's content, not on the rows around it."""
    content = crc32(np.asarray(columns, "<i4").tobytes())
    return [seed, crc32(np.asarray(counts, "<f8").tobytes(), content)]


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
        rng = np.random.default_rng(row_seed(seed, values.indices[row], data[row]))
        # Beyond 2^53 doubles skip integers, and a coin's effect is below their precision.
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


class CompletesRows:
    """Document completion, for models whose tokens have p(column | row) = sum_k m_k theta_k.

    Not to be compared with `score_samples`: here half of a row is predicted from the other half.
    """

    components_: Matrix

    def completion_samples(self, X: Any, random_state: int = 0) -> np.ndarray:
        """Log probability of one half of each row's tokens given the other half and their number.

        Parameters
        ----------
        X : table of counts without unobserved cells
        random_state : int, default=0
            Seed of the coins that deal tokens to the halves.
        """
        shown, hidden = self._halves(X, random_state)
        return token_log_likelihood(hidden, self._weights_of_half(shown), self.components_)

    def completion_score(self, X: Any) -> float:
        """Log probability of a hidden token by document completion; larger is better."""
        _, hidden = self._halves(X, 0)
        return float(self.completion_samples(X).sum() / max(float(hidden.sum()), 1.0))

    def completion_perplexity(self, X: Any) -> float:
        """exp(-completion_score): the average number of equally likely columns per token."""
        return float(np.exp(-self.completion_score(X)))

    def _weights_of_half(self: Any, shown: Blocks) -> np.ndarray:
        """Weights of rows, given half of their tokens."""
        weights: np.ndarray = self._settle(shown)
        return weights

    def _halves(self: Any, X: Any, random_state: int) -> tuple[Blocks, sparse.csr_array]:
        blocks = self._blocks(X, reset=False)
        if any(block.missing_csr is not None for block in blocks):
            raise ValueError(
                f"{type(self).__name__} completes only rows without missing cells, but some cells "
                "here are missing; criterion='cells' and score_samples leave such cells out."
            )
        values = sparse.csr_array(sparse.vstack([b.csr for b in blocks], format="csr"))
        shown, hidden = split_tokens(values, random_state)
        return Blocks.cut(shown, block_rows=blocks[0].shape[0]), hidden
