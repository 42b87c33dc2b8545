"""Discrete PCA slides: lemmas in four groups, phrases, and pairs of verbs and nouns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.data.table import Table
from falsezero.datasets import load_newsgroups4_documents

__all__ = ["Lemma", "has_tagger", "lemmas_and_phrases", "tagged_messages", "verb_noun_pairs"]

KINDS = ("noun", "verb", "adjective", "adverb")
ENDINGS = {
    "adverb": ("ly",),
    "verb": ("ing", "ed"),
    "adjective": ("al", "ous", "ive", "ic", "able"),
}
_BY_TAG = {"NN": "noun", "NP": "noun", "VV": "verb", "AJ": "adjective", "AV": "adverb"}
WINDOW = 4
"""A noun is in the vicinity of a verb where at most so many words lie from one to the other."""


class Lemma(NamedTuple):
    """A word of a message in its dictionary form, and its kind; other words have no kind."""

    word: str
    kind: str


@cache
def _tagger() -> Any:
    """HanTa's model of English, which comes within the package; None where it is not installed."""
    try:
        return import_module("HanTa.HanoverTagger").HanoverTagger("morphmodel_en.pgz")
    except ImportError:
        return None


def has_tagger() -> bool:
    """Whether words are tagged by HanTa, not by their endings."""
    return _tagger() is not None


def tagged_messages(every: int = 1) -> list[list[Lemma]]:
    """Messages of four newsgroups as lemmas with their kinds."""
    texts = load_newsgroups4_documents()[0][::every]
    return [list(_lemmas(str(text).split())) for text in texts]


def _lemmas(words: list[str]) -> Iterable[Lemma]:
    if not has_tagger():
        return (Lemma(word, kind_by_ending(word)) for word in words)
    tagged = _tagger().tag_sent(words)
    return (Lemma(str(lemma).lower(), _BY_TAG.get(tag[:2], "")) for _, lemma, tag in tagged)


def kind_by_ending(word: str) -> str:
    """A guess where no tagger is at hand.

    >>> [kind_by_ending(word) for word in ("orbit", "orbiting", "orbital", "quickly", "of")]
    ['noun', 'verb', 'adjective', 'adverb', '']
    """
    if len(word) < 4:
        return ""
    return next((kind for kind, ends in ENDINGS.items() if word.endswith(ends)), "noun")


def lemmas_and_phrases(messages: list[list[Lemma]], least: int = 5) -> tuple[Table, list[str]]:
    """Counts of lemmas and of phrases in at least `least` messages, and the group of each column.

    A phrase is an adjective or a noun before a noun. A lemma may be a column of two groups.
    """
    counts = []
    for message in messages:
        known = [(lemma.word, lemma.kind) for lemma in message if _is_worth(lemma)]
        pairs = pairwise(message)
        phrases = [(f"{a.word} {b.word}", "phrase") for a, b in pairs if _is_phrase(a, b)]
        counts.append(Counter(known + phrases))
    values, names = _counted(counts, least)
    columns = [f"{word} ({kind})" if kind in KINDS[1:] else word for word, kind in names]
    return Table(values, columns=columns, name="lemmas"), [kind for _, kind in names]


def _is_worth(lemma: Lemma) -> bool:
    return bool(lemma.kind) and len(lemma.word) > 2


def _is_phrase(first: Lemma, second: Lemma) -> bool:
    kinds = first.kind in ("adjective", "noun") and second.kind == "noun"
    return kinds and _is_worth(first) and _is_worth(second)


def verb_noun_pairs(messages: list[list[Lemma]], least: int = 20) -> sparse.csr_array:
    """A row a verb, with the nouns in its vicinity; verbs with `least` nouns or more."""
    by_verb: dict[str, Counter[tuple[str, str]]] = {}
    for message in messages:
        for i, lemma in enumerate(message):
            if lemma.kind == "verb" and _is_worth(lemma):
                near = message[max(0, i - WINDOW) : i + WINDOW + 1]
                nouns = [(n.word, n.kind) for n in near if n.kind == "noun" and _is_worth(n)]
                by_verb.setdefault(lemma.word, Counter()).update(nouns)
    rows = [count for count in by_verb.values() if count.total() >= least]
    return _counted(rows, 5)[0]


def _counted(
    rows: list[Counter[tuple[str, str]]], least: int
) -> tuple[sparse.csr_array, list[tuple[str, str]]]:
    """Counters as a sparse table of the names that occur in at least `least` of them."""
    spread = Counter(name for row in rows for name in row)
    names = sorted(name for name, n in spread.items() if n >= least)
    at = {name: j for j, name in enumerate(names)}
    cells = [
        (i, at[name], n) for i, row in enumerate(rows) for name, n in row.items() if name in at
    ]
    i, j, n = (np.array(part) for part in zip(*cells, strict=True))
    table = sparse.csr_array((n.astype(float), (i, j)), shape=(len(rows), len(names)))
    return table, names
