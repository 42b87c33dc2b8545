"""Discrete PCA slides: an example component, its words and its pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import gamma

from falsezero.analysis.topics import best_rows, distinctive_words, page_rank, top_words
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import load_citeseer, load_cora, load_wikipedia_sample
from falsezero.experiments._report import Report
from falsezero.experiments.discrete_pca.algorithms import ETA
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
    report.figure(display, "Gamma densities of mean one.", "Gamma components")
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


def groups(report: Report) -> None:
    """Four multinomials packed into one vector (slide "Example component")."""
    report.section(
        "Four groups of words",
        "No part-of-speech tags come with the sample of Wikipedia; endings of words stand for them "
        "(-ly: adverb; -ing, -ed: verb; -al, -ous, -ive, -ic, -able: adjective; others: noun).",
    )
    table = load_wikipedia_sample().table
    frequent = np.asarray((table.values > 0).sum(axis=0)) >= 3
    table = Table(table.values[:, frequent], table.rows, table.columns[frequent], table.name)
    kinds = [_kind(str(word)) for word in table.columns]
    model = DiscretePCA(
        8, family="gamma-multinomial", groups=kinds, inference="mean_field", eta=ETA,
        max_iter=100 if report.quick else 500, tol=1e-4, random_state=0,
    )  # fmt: skip
    model.fit(table)
    caption = "The most probable words of each component and group."
    report.table(top_words(model, 6), caption, "Example component, words")
    report.table(distinctive_words(model, table, 6), "Words with the highest Bayes factors.")
    sums = [model.components_[:, np.asarray(kinds) == kind].sum(axis=1) for kind in set(kinds)]
    report.claim(
        "Example component, words",
        "each row of Theta packs one distribution per group",
        f"{len(sums)} groups, sums within {np.abs(np.array(sums) - 1).max():.1g} of one",
        bool(np.allclose(sums, 1)),
    )


def _kind(word: str) -> str:
    endings = {"adverb": ("ly",), "verb": ("ing", "ed"),
               "adjective": ("al", "ous", "ive", "ic", "able")}  # fmt: skip
    return next((kind for kind, ends in endings.items() if word.endswith(ends)), "noun")


def pages(report: Report) -> None:
    """Slide "Example component": papers ranked by topic and links, beside topic alone."""
    report.section(
        "Example component: papers ranked by topic and links",
        "A surfer who is interested in one topic follows citations towards papers on it. Fields "
        "of the papers took no part; a good ranking of a topic keeps to one field.",
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
        report.table(_listed(model, fields, top), f"{name}: words of a topic, fields of its best.")


def _listed(model: DiscretePCA, fields: np.ndarray, top: np.ndarray) -> Tidy:
    words = top_words(model, 6)
    lines = []
    for c in range(top.shape[1]):
        of = words["word"][words["component"] == c]
        names, counts = np.unique(fields[top[:, c]], return_counts=True)
        best = ", ".join(f"{names[i]} {counts[i]}" for i in np.argsort(-counts)[:3])
        lines.append({"topic": c + 1, "words": " ".join(map(str, of)), "fields of 20 papers": best})
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
