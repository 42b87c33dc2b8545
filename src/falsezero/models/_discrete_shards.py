"""Some rows' tokens with their components, laid out for the collapsed sweep."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from falsezero.kernels.collapsed_gibbs import gather_documents, sweep_words


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
    """Components of the tokens of a `Shard`, and the components each row uses, how often."""

    z: np.ndarray
    sizes: np.ndarray
    topics: np.ndarray
    counts: np.ndarray


class Shard:
    """Some rows' tokens, word by word; each row keeps a list of the components that it uses."""

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

    def start(self, z: np.ndarray) -> RowLists:
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
