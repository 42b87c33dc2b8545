"""Some rows' tokens with their components, laid out for one of the two collapsed sweeps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from falsezero.kernels.collapsed_gibbs import gather_documents, sweep_documents, sweep_words

MANY = 192
"""More components than this are sampled word by word."""

_LANES = 32


class Prior(NamedTuple):
    """What a sweep is told, in single precision: alpha_k, scale_k, eta and eta times group size."""

    alpha: np.ndarray
    scale: np.ndarray
    eta: np.float32
    spread: np.ndarray


def even_cuts(weights: np.ndarray, parts: int) -> list[slice]:
    """Cut a range into parts of about equal total weight.

    >>> even_cuts(np.array([1.0, 1.0, 2.0]), 2)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    done = np.cumsum(weights + 1e-9)
    inner = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts)
    bounds = [0, *(int(i) + 1 for i in inner), len(weights)]
    return [slice(min(a, len(weights)), max(a, b)) for a, b in pairwise(bounds)]


class RowLists(NamedTuple):
    """Components of the tokens of a `WordShard`, and the components each row uses, how often."""

    z: np.ndarray
    sizes: np.ndarray
    topics: np.ndarray
    counts: np.ndarray


class WordShard:
    """Tokens word by word, for many components: rows keep lists of those that they use."""

    padded = staticmethod(lambda n_components: n_components)

    def __init__(self, csr: Any, rows: slice, word_parts: list[slice], n_components: int):
        part = csr[rows].tocsc()
        counts = part.data.astype(np.int64)
        self.rows, self.parts = rows, word_parts
        self.word_ptr = np.concatenate([[0], np.cumsum(counts)])[part.indptr]
        self.docs = np.repeat(part.indices, counts).astype(np.int32)
        lengths = np.asarray(part.sum(axis=1)).astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, n_components) + 1)])

    @property
    def words(self) -> np.ndarray:
        """The word of every token."""
        return np.repeat(np.arange(len(self.word_ptr) - 1), np.diff(self.word_ptr))

    def start(self, z: np.ndarray, n_components: int) -> RowLists:
        """Count the components of every row."""
        places = int(self.starts[-1])
        sizes = np.zeros(len(self.starts) - 1, np.int32)
        lists = RowLists(z, sizes, np.zeros(places, np.int32), np.zeros(places, np.float32))
        gather_documents(self.docs, z, self.starts, *lists[1:])
        return lists

    def sweep(self, part: int, lists: RowLists, words: Any, totals: Any, groups: Any,
              prior: Prior, stream: Any) -> None:  # fmt: skip
        """Draw the tokens of one part of the words anew, in place."""
        inside = self.parts[part]
        sweep_words(
            inside.start, inside.stop, self.word_ptr, self.docs, lists.z, self.starts, *lists[1:],
            words, totals, groups, *prior, stream,
        )  # fmt: skip

    def pairs(self, lists: RowLists) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, component and count of everything that is not zero."""
        rows = np.repeat(np.arange(len(lists.sizes)), lists.sizes)
        first = np.concatenate([[0], np.cumsum(lists.sizes)])[:-1]
        places = np.arange(len(rows)) + np.repeat(self.starts[:-1] - first, lists.sizes)
        return rows + self.rows.start, lists.topics[places], lists.counts[places].astype(float)


class RowTable(NamedTuple):
    """Components of the tokens of a `RowShard`, and tokens by row and component, padded."""

    z: np.ndarray
    counts: np.ndarray


class RowShard:
    """Tokens row by row within each part of the words, for few components: all terms by SIMD."""

    def __init__(self, csr: Any, rows: slice, word_parts: list[slice], n_components: int):
        self.rows, self.n_components = rows, n_components
        self.row_ptr, words, done = [], [], 0
        for inside in word_parts:
            part = csr[rows][:, inside]
            counts = part.data.astype(np.int64)
            self.row_ptr.append(done + np.concatenate([[0], np.cumsum(counts)])[part.indptr])
            words.append(np.repeat(part.indices + inside.start, counts).astype(np.int32))
            done += len(words[-1])
        self.words = np.concatenate(words)

    @staticmethod
    def padded(n_components: int) -> int:
        """K rounded up, so that no remainder is left to a scalar loop."""
        return -(-n_components // _LANES) * _LANES

    @property
    def docs(self) -> np.ndarray:
        """The row of every token, counted from the shard's first."""
        each = [np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) for ptr in self.row_ptr]
        return np.concatenate(each)

    def start(self, z: np.ndarray, n_components: int) -> RowTable:
        """Count the components of every row."""
        counts = np.zeros((len(self.row_ptr[0]) - 1, self.padded(n_components)), np.float32)
        np.add.at(counts, (self.docs, z), np.float32(1))
        return RowTable(z, counts)

    def sweep(self, part: int, table: RowTable, words: Any, totals: Any, groups: Any,
              prior: Prior, stream: Any) -> None:  # fmt: skip
        """Draw the tokens of one part of the words anew, in place."""
        alpha = np.zeros(table.counts.shape[1], np.float32)
        alpha[: self.n_components] = prior.alpha
        sweep_documents(
            self.row_ptr[part], self.words, table.z, table.counts, words, totals, groups,
            alpha, *prior[1:], stream,
        )  # fmt: skip

    def pairs(self, table: RowTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, component and count of everything that is not zero."""
        rows, components = np.nonzero(table.counts)
        counts = table.counts[rows, components].astype(float)
        return rows + self.rows.start, components, counts
