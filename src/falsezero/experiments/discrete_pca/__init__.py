"""The Discrete PCA slides: their comparisons beside ours.

W. Buntine, "Discrete Principal Components Analysis", slides, Bohinj (2005). The slides' RCV1 corpus
is not free; 20 Newsgroups and film reviews stand in for it, and verbs with the nouns near them in
newsgroup messages for its verb-noun bigrams.
"""

from __future__ import annotations

from pathlib import Path

from scipy import sparse

from falsezero.datasets import load_imdb_reviews, load_newsgroups20
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca import evidence, reading, uses
from falsezero.experiments.discrete_pca.algorithms import Curve, algorithms, ordering
from falsezero.experiments.discrete_pca.items import ITEMS
from falsezero.experiments.discrete_pca.language import (
    Lemma,
    has_tagger,
    tagged_messages,
    verb_noun_pairs,
)

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the slides on the data that can be had; returns the path of the report."""
    report = Report("Discrete PCA, repeated", __doc__.split("\n\n")[1], quick, ITEMS)
    reading.gammas(report)
    report.section("Messages are tagged")
    messages = tagged_messages(16 if quick else 2)
    ordering(report, _comparisons(report, messages))
    evidence.evidence(report)
    if not quick:
        evidence.newsgroups_order(report)
    model, table = reading.groups(report, messages)
    uses.synonyms(report, model, table)
    reading.pages(report)
    uses.applications(report)
    return report.write(Path(out_dir))


def _comparisons(report: Report, messages: list[list[Lemma]]) -> dict[str, dict[str, Curve]]:
    """Algorithms on documents and on pairs of verbs and nouns, with the slides' numbers K."""
    quick = report.quick
    news = sparse.csr_array(load_newsgroups20().table.values)[:: 40 if quick else 16]
    reviews = sparse.csr_array(load_imdb_reviews().table.values)[:: 100 if quick else 20]
    curves = {}
    for name, values in (("newsgroups", news), ("film reviews", reviews)):
        for k in (20, 100):
            curves[f"{name}, K = {k}"] = algorithms(report, name, values, k)
    if not has_tagger():
        report.claim("Bigrams", "as for documents", "HanTa, a tagger, is not installed", None)
        return curves
    pairs = verb_noun_pairs(messages)
    for k in (20,) if quick else (20, 100, 500):
        name = "verbs and nouns"
        curves[f"{name}, K = {k}"] = algorithms(report, name, pairs, k, "Bigrams")
    return curves
