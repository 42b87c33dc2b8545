"""The tokens of some rows with their components, laid out for the collapsed sweep."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.kernels.collapsed_gibbs import (
    gather_documents,
    log_rising_lists,
    seed_components,
    sweep_long_documents,
    sweep_words,
)

_SHORT = 2**16


class SweepPrior(NamedTuple):
    """Priors of a sweep in single precision: alpha_k, scale_k, eta and eta times group size."""

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


def unlike_rows(csr: Any, k: int, rng: np.random.Generator) -> np.ndarray:
    """Choose k dissimilar rows, preferring long ones, as k-means++ does.

    Dissimilarity is one minus the cosine between square roots of counts, to the nearest row chosen
    so far. The choice is among a few times k rows, so that it costs little.
    """
    tokens = np.asarray(csr.sum(axis=1), dtype=float) + 1e-9
    few = min(len(tokens), 4 * k + 20)
    drawn = np.sort(rng.choice(len(tokens), few, replace=False, p=tokens / tokens.sum()))
    roots = csr[drawn].astype(float).sqrt()
    roots = roots.multiply(1 / np.sqrt(tokens[drawn])[:, None]).tocsr()
    unlike = np.ones(few)
    chosen = []
    for _ in range(k):
        total = unlike.sum()
        chosen.append(rng.choice(few, p=unlike / total if total > 0 else None))
        likeness = (roots @ roots[[chosen[-1]]].T).toarray().ravel()
        unlike = np.minimum(unlike, np.maximum(1 - likeness, 0))
    return drawn[chosen]


def anchored_counts(csr: Any, k: int, rng: np.random.Generator) -> Any:
    """Words that occur beside k anchor words, k x words: a first guess at the components.

    An anchor is a word of few components. The co-occurrence profile of any word is a mixture of
    those of the anchors, so anchors are the corners of all profiles; they are found one by one,
    each the furthest from the span of those before (Arora et al., 2013), in a random projection.
    Profiles of rare words are mostly chance and lie far out for no reason, so they are shrunk
    towards the mean, and words of very few rows are no candidates.
    """
    n_rows, n_words = csr.shape
    counts = sparse.csr_array(csr, dtype=float)
    lengths = np.maximum(np.asarray(counts.sum(axis=1)), 1e-300)
    shares = sparse.csr_array(counts.multiply(1 / lengths[:, None]))
    rows_with = np.bincount(csr.indices, minlength=n_words)
    enough = min(max(5.0, 0.01 * n_rows), np.sort(rows_with)[-min(n_words, 4 * k)])
    able = np.flatnonzero(rows_with >= max(enough, 1))
    company = (counts.T @ (shares @ rng.standard_normal((n_words, max(2 * k, 100)))))[able]
    size = np.asarray(counts.sum(axis=0))[able, None]
    company = company / size - company.sum(axis=0) / size.sum()
    company *= np.sqrt(size / (size + np.median(size)))
    chosen = []
    for _ in range(k):
        distance = (company**2).sum(axis=1)
        chosen.append(int(np.argmax(distance)))
        axis = company[chosen[-1]] / np.sqrt(max(distance[chosen[-1]], 1e-300))
        company = company - np.outer(company @ axis, axis)
    return sparse.csr_array(shares[:, able[chosen]].T @ counts)


class RowLists(NamedTuple):
    """Components of the tokens of a `Shard`, and the components each row uses with their counts."""

    z: np.ndarray
    sizes: np.ndarray
    lists: np.ndarray


class Shard:
    """The tokens of some rows, word by word; each row has a list of the components it uses."""

    def __init__(self, csr: Any, rows: slice, word_parts: list[slice], n_components: int):
        part = csr[rows].tocsc()
        counts = part.data.astype(np.int64)
        self.rows, self.parts = rows, word_parts
        self.word_ptr = np.concatenate([[0], np.cumsum(counts)])[part.indptr]
        self.docs = np.repeat(part.indices, counts).astype(np.int32)
        lengths = np.asarray(part.sum(axis=1)).astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, n_components) + 1)])
        self.short = max(n_components, lengths.max(initial=0)) < _SHORT

    @property
    def words(self) -> np.ndarray:
        """The word of every token."""
        return np.repeat(np.arange(len(self.word_ptr) - 1), np.diff(self.word_ptr))

    def seed(self, seeds: Any, inverse: np.ndarray, eta: float, stream: Any) -> np.ndarray:
        """Draw the component of each token, where component k is row k of `seeds`."""
        z = np.empty(len(self.docs), np.int32)
        columns = seeds.tocsc()
        seed_components(
            self.word_ptr, columns.indptr, columns.indices, columns.data.astype(float), inverse,
            np.cumsum(inverse) * eta, stream, z,
        )  # fmt: skip
        return z

    def start(self, z: np.ndarray) -> RowLists:
        """Count the components of every row."""
        sizes = np.zeros(len(self.starts) - 1, np.int32)
        lists = np.zeros(int(self.starts[-1]), np.uint32 if self.short else np.uint64)
        gather_documents(self.docs, z, self.starts, sizes, lists)
        return RowLists(z, sizes, lists)

    def sweep(self, part: int, rows: RowLists, words: Any, totals: Any, groups: Any,
              prior: SweepPrior, stream: Any) -> None:  # fmt: skip
        """Redraw the tokens of one part of the words, in place."""
        inside = self.parts[part]
        sweep = sweep_words if self.short else sweep_long_documents
        sweep(
            inside.start, inside.stop, self.word_ptr, self.docs, rows.z, self.starts, rows.sizes,
            rows.lists, words, totals, groups, *prior, stream,
        )  # fmt: skip

    def log_rising(self, rows: RowLists, alpha: np.ndarray) -> float:
        """Sum of log G(alpha_k + c_ik) - log G(alpha_k) over the rows."""
        return log_rising_lists(self.starts, rows.sizes, rows.lists, alpha)

    def pairs(self, rows: RowLists) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, component and count of all non-zero counts."""
        where = np.repeat(np.arange(len(rows.sizes)), rows.sizes)
        first = np.concatenate([[0], np.cumsum(rows.sizes)])[:-1]
        entries = rows.lists[np.arange(len(where)) + (self.starts[:-1] - first)[where]]
        half = 4 * rows.lists.itemsize
        components = (entries >> half).astype(np.int64)
        return where + self.rows.start, components, (entries & (2**half - 1)).astype(float)
