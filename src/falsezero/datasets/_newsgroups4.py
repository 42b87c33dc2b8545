"""Four newsgroups as the papers prepared them: few documents, few informative stemmed words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.lines import TextFile
from falsezero.data.table import Table
from falsezero.datasets._stem import stem
from falsezero.datasets._store import Dataset, Folder

__all__ = ["load_newsgroups4", "load_newsgroups4_documents"]

GROUPS = ("sci.crypt", "sci.med", "sci.space", "soc.religion.christian")


def load_newsgroups4(
    *,
    n_documents: int = 100,
    n_words: int = 100,
    words: Collection[str] | None = None,
    random_state: Any = None,
) -> Dataset:
    """Messages of four newsgroups x words, binary; the preparation of binary ICA, section 5.3.

    From each group `n_documents` messages are taken: the first ones, or with `random_state` a
    random sample. Words are stemmed (Porter) without English stop words, and the `n_words` with the
    largest information gain about the group are kept; or those stems of `words` that occur in a
    message. `target` is the group.
    """
    folder = Folder("newsgroups4_text")
    texts, groups, splits = load_newsgroups4_documents()
    chosen = _sample(groups, n_documents, random_state)
    counts, stems = _stem_counts(texts[chosen])
    present: Any = (counts > 0).astype(np.float64)
    if words is None:
        gain = _information_gain(present, groups[chosen])
        best = np.sort(np.argsort(-gain, kind="stable")[:n_words])
    else:
        best = np.flatnonzero(np.isin(stems, list(words)))
    table = Table(present[:, best], chosen, stems[best], "newsgroups4")
    info = {"group": groups[chosen], "split": splits[chosen]}
    return folder.dataset(table, target=groups[chosen], row_info=info)


def load_newsgroups4_documents() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Texts of the 3964 messages (object array), their groups, and train or test."""
    file = TextFile(Folder("newsgroups4_text").file("documents.tsv.gz"), delimiter="\t")
    splits, groups, texts = zip(*(fields for _, fields in file.records()), strict=True)
    return np.array(texts, dtype=object), np.array(groups), np.array(splits)


def _sample(groups: NDArray[Any], number: int, random_state: Any) -> NDArray[np.intp]:
    members = [np.flatnonzero(groups == group) for group in GROUPS]
    if random_state is not None:
        generator = np.random.default_rng(random_state)
        members = [np.sort(generator.permutation(each)[:number]) for each in members]
    return np.concatenate([each[:number] for each in members])


def _stem_counts(texts: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    def words(text: str) -> list[str]:
        kept = (word for word in text.split() if len(word) > 1)
        return [stem(word) for word in kept if word not in ENGLISH_STOP_WORDS]

    vectorizer = CountVectorizer(analyzer=words)
    counts = vectorizer.fit_transform(texts)
    return counts, vectorizer.get_feature_names_out()


def _information_gain(present: Any, groups: NDArray[Any]) -> NDArray[np.float64]:
    """H(group) - H(group | word present or not), for every word."""
    names, codes = np.unique(groups, return_inverse=True)
    member = np.eye(names.size)[codes]
    with_word = np.asarray(present.T @ member)
    sizes = member.sum(axis=0)
    n = groups.size

    def weighted_entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        total = counts.sum(axis=-1, keepdims=True)
        share = np.divide(counts, total, out=np.ones_like(counts), where=counts > 0)
        return np.asarray(-(counts * np.log(share)).sum(axis=-1) / n)

    conditional = weighted_entropy(with_word) + weighted_entropy(sizes - with_word)
    return weighted_entropy(sizes) - conditional
