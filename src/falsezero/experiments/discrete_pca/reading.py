"""Discrete PCA slides: an example component, its words and its pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import gamma

from falsezero.analysis.topics import best_rows, distinctive_words, page_rank, top_words
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import load_citeseer, load_cora
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca.algorithms import ETA
from falsezero.experiments.discrete_pca.language import Lemma, has_tagger, lemmas_and_phrases
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.plot import CurvesDisplay


def gammas(report: Report) -> None:
    """Slide "Gamma components": their densities."""
    report.section("Gamma components")
    at = np.linspace(0.05, 3, 60)
    shapes = (0.5, 1, 2, 4, 16)
    curves = {f"shape {a:g}": (at, gamma.pdf(at, a, scale=1 / a)) for a in shapes}
    display = CurvesDisplay(curves, "amount of a component", "density").plot()
    for line in display.ax_.lines:
        line.set_marker("")
    report.figure(display, "Gamma components: densities of mean one.", "Gamma components")
    found = {a: (float(gamma.stats(a, moments="s")), float(gamma.stats(a, moments="k")))
             for a in (0.5, 4)}  # fmt: skip
    report.claim(
        "Gamma components",
        "for shapes above 4 they approach Gaussians",
        f"skewness and excess kurtosis {found[4][0]:.1f} and {found[4][1]:.1f} at 4, "
        f"{found[0.5][0]:.1f} and {found[0.5][1]:.1f} at 0.5",
        found[4][0] <= 1,
        ours="a skewness of 1",
    )


def groups(report: Report, messages: list[list[Lemma]]) -> tuple[DiscretePCA, Table]:
    """Multinomials packed into one vector, and distinctive phrases; returns model and table."""
    by = (
        "HanTa, a tagger whose model of English comes with its package"
        if has_tagger()
        else "their endings, since HanTa, the tagger of the recorded report, is not installed"
    )
    report.section(
        "Example component: lemmas in four groups, and phrases",
        "The text of the Wikipedia pages is not at hand. Messages of four newsgroups stand in for "
        f"it, their words lemmatised and grouped by {by}. Phrases, an adjective or noun before a "
        "noun, are a fifth group here.",
    )
    table, kinds = lemmas_and_phrases(messages)
    model = DiscretePCA(
        8 if report.quick else 20, family="gamma-multinomial", groups=kinds,
        inference="mean_field", eta=ETA, max_iter=100 if report.quick else 500, tol=1e-4,
        random_state=0,
    )  # fmt: skip
    model.fit(table)
    shown = _by_group(top_words(model, 6))
    report.table(shown, "The most probable words of each group.", "Example component, words")
    phrases = _phrases(distinctive_words(model, table, table.shape[1]))
    caption = "Phrases with the highest Bayes factors for a component."
    report.table(phrases, caption, "Example component, phrases")
    sums = [model.components_[:, np.asarray(kinds) == kind].sum(axis=1) for kind in set(kinds)]
    report.claim(
        "Example component, words",
        "each row of Theta packs one distribution per group",
        f"{len(sums)} groups, sums within {np.abs(np.array(sums) - 1).max():.1g} of one",
        bool(np.allclose(sums, 1)),
    )
    return model, table


def _by_group(words: Tidy, n: int = 8) -> Tidy:
    """A row a component, a column a group of words."""
    lines = []
    for k in range(n):
        of = words.take(words["component"] == k)
        kinds = {str(g): of["word"][of["group"] == g] for g in dict.fromkeys(of["group"].tolist())}
        # The column says the kind that a word carries in brackets.
        plain = {g: ", ".join(str(w).split(" (")[0] for w in of_g) for g, of_g in kinds.items()}
        lines.append({"component": k + 1, **plain})
    return Tidy.from_rows(lines)


def _phrases(words: Tidy, n: int = 8) -> Tidy:
    lines = []
    for k in range(n):
        of = words["word"][words["component"] == k].tolist()
        # Words of other groups carry their kind in brackets.
        best = [word for word in of if " " in word and not word.endswith(")")][:8]
        lines.append({"component": k + 1, "distinctive phrases": "; ".join(best)})
    return Tidy.from_rows(lines)


def pages(report: Report) -> None:
    """Slide "Example component": papers ranked by topic and links, beside topic alone."""
    report.section(
        "Example component: papers ranked by topic and links",
        "A surfer interested in one topic follows citations towards papers on it. The fields of "
        "the papers are not used; a good ranking for a topic keeps to one field.",
    )
    for name, load in (("Cora", load_cora), ("CiteSeer", load_citeseer)):
        words, links = load("words"), load("citations")
        fields = np.asarray(words.target)
        k = len(np.unique(fields))
        spoken = np.asarray(words.table.values.sum(axis=1)) > 0
        table, fields = words.table.select(rows=spoken), fields[spoken]
        graph = links.table.values[np.flatnonzero(spoken)][:, np.flatnonzero(spoken)]
        model = DiscretePCA(k, random_state=0).fit(table)
        ranks = page_rank(model, table, graph)
        top = np.argsort(-ranks, axis=0, kind="stable")[:20]
        rows = best_rows(model, table, 20)
        label = {row: i for i, row in enumerate(table.rows.tolist())}
        plain = np.array([[label[r] for r in rows["row"][rows["component"] == c].tolist()]
                          for c in range(k)]).T  # fmt: skip
        _judge_pages(report, name, graph, fields, top, plain)
        report.table(
            _listed(model, fields, top),
            f"{name}: the words of each topic (the data set has only their numbers), and the "
            "fields of its 20 best papers.",
        )


def _listed(model: DiscretePCA, fields: np.ndarray, top: np.ndarray) -> Tidy:
    words = top_words(model, 6)
    lines = []
    for c in range(top.shape[1]):
        of = words["word"][words["component"] == c]
        names, counts = np.unique(fields[top[:, c]], return_counts=True)
        best = ", ".join(f"{names[i]} {counts[i]}" for i in np.argsort(-counts)[:3])
        lines.append(
            {"topic": c + 1, "words": " ".join(map(str, of)), "fields of the 20 papers": best}
        )
    return Tidy.from_rows(lines)


def _judge_pages(
    report: Report,
    name: str,
    graph: Any,
    fields: np.ndarray,
    top: np.ndarray,
    plain: np.ndarray,
) -> None:
    purity = {
        label: float(np.mean([_purity(fields[of]) for of in found.T]))
        for label, found in (("links", top), ("topic", plain))
    }
    cited = np.asarray(graph.sum(axis=0)).ravel()
    report.claim(
        "Example component, pages",
        f"topic and links together rank pages that matter to a topic ({name})",
        f"of 20 papers a topic {purity['links']:.0%} are of one field (by topic alone "
        f"{purity['topic']:.0%}), cited {cited[top].mean():.1f} times (by topic alone "
        f"{cited[plain].mean():.1f})",
        bool(cited[top].mean() > cited[plain].mean() and purity["links"] > 0.5),
        ours="more citations than by topic alone, and over half of one field",
    )


def _purity(fields: np.ndarray) -> float:
    return float(np.unique(fields, return_counts=True)[1].max() / len(fields))
