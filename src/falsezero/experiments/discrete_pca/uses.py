"""Discrete PCA slides: classification, retrieval and synonyms with topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import load_newsgroups_w100
from falsezero.datasets._stem import stem
from falsezero.experiments._report import Report
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA

N_TOPICS = 20


def applications(report: Report) -> None:
    """Slide "Text Applications" on 16242 messages of four main groups, 100 words."""
    report.section("Text applications: classification and retrieval")
    data = load_newsgroups_w100()
    step = 8 if report.quick else 1
    rows = np.arange(data.table.shape[0]) % step == 0
    values = data.table.select(rows=rows).to_numpy()
    target = np.asarray(data.target)[rows]
    spoken = values.sum(axis=1) > 0
    values, target = values[spoken], target[spoken]
    test = np.random.default_rng(0).random(len(values)) < 0.3
    model = DiscretePCA(N_TOPICS, random_state=0).fit(values[~test])
    topics = _shares(model.transform(values))
    _classify(report, values, topics, target, test)
    _retrieve(report, model, values, topics, target, test)


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)


def _classify(
    report: Report, values: np.ndarray, topics: np.ndarray, target: np.ndarray, test: np.ndarray
) -> None:
    """Accuracy of a linear classifier on topics, and of a linear SVM on words."""

    def accuracy(classifier: Any, features: np.ndarray) -> float:
        fit = classifier.fit(features[~test], target[~test])
        return float(fit.score(features[test], target[test]))

    found = {
        f"logistic regression on {N_TOPICS} topics": accuracy(LogisticRegression(), topics),
        "linear SVM on words": accuracy(LinearSVC(C=0.1), values),
        "linear SVM on both": accuracy(LinearSVC(C=0.1), np.hstack([values, topics])),
        "most frequent class": float((target[test] == _mode(target[~test])).mean()),
    }
    item = "Applications, classification"
    table = Tidy(features=list(found), accuracy=list(found.values()))
    report.table(table, "Accuracy on held-out messages.", item)
    by_topics, by_words, _, base = found.values()
    report.claim(
        item,
        "topics work as features for classification",
        f"{by_topics:.1%}, the most frequent class {base:.1%}",
        by_topics > base + 0.2,
        ours="20 points above the most frequent class",
    )
    finding = f"{by_words:.1%} against {by_topics:.1%}"
    report.claim(item, "support vector machines on words are better", finding, by_words > by_topics)


def _mode(labels: np.ndarray) -> Any:
    names, counts = np.unique(labels, return_counts=True)
    return names[counts.argmax()]


def _retrieve(
    report: Report,
    model: Any,
    values: np.ndarray,
    topics: np.ndarray,
    target: np.ndarray,
    test: np.ndarray,
) -> None:
    """Query likelihood: held-out messages ask, training messages of their group are the answer."""
    queries = np.flatnonzero(test)[:200]
    documents = np.flatnonzero(~test)
    background = values[documents].mean(axis=0) + 1e-6
    background /= background.sum()
    own = values[documents] / values[documents].sum(axis=1, keepdims=True)
    by_topic = topics[documents] @ model.components_
    models = {
        "words": 0.5 * own + 0.5 * background,
        "words and topics": 0.3 * own + 0.5 * by_topic + 0.2 * background,
        "topics": 0.9 * by_topic + 0.1 * background,
    }
    found = {}
    for name, language in models.items():
        scores = values[queries] @ np.log(language).T
        right = target[documents][None, :] == target[queries][:, None]
        found[name] = float(np.mean([average_precision_score(r, s)
                                     for r, s in zip(right, scores, strict=True)]))  # fmt: skip
    item = "Applications, retrieval"
    table = Tidy(language_model=list(found), average_precision=list(found.values()))
    report.table(
        table,
        "Mean average precision; messages of the query's own group are the right answers.",
        item,
    )
    report.claim(
        item,
        "topics help a language model for retrieval",
        f"{found['words and topics']:.3f} with topics, {found['words']:.3f} by words alone",
        found["words and topics"] > found["words"],
        ours="newsgroups as relevance judgements, fixed mixture shares",
    )


def synonyms(report: Report, model: DiscretePCA, table: Table) -> None:
    """Words with similar topics; words that share a stem stand in for a list of synonyms."""
    report.section(
        "Text applications: words of similar meaning",
        "Words are neighbours where their shares of the components are similar (cosine). No list "
        "of synonyms is at hand; words that share a stem, such as encrypt and encryption, stand "
        "in.",
    )
    theta = model.components_ * model.row_weights_.mean(axis=0)[:, None]
    profile = (theta / np.linalg.norm(theta, axis=0)).T
    words = np.array([str(name).split(" (")[0] for name in table.columns])
    single = np.array([" " not in word for word in words])
    frequent = np.asarray(table.values.sum(axis=0)) >= 20
    at = np.flatnonzero(single & frequent)
    profile, names = profile[at], np.asarray(table.columns)[at]
    likeness = profile @ profile.T
    np.fill_diagonal(likeness, -1)
    stems = np.array([stem(word) for word in words[at]])
    lines = []
    for k in range(8):
        i = int(np.argmax(theta[k, at]))
        near = ", ".join(map(str, names[np.argsort(-likeness[i], kind="stable")[:6]]))
        lines.append({"word": str(names[i]), "neighbours": near})
    item = "Applications, synonyms"
    report.table(Tidy.from_rows(lines), "Neighbours of the strongest words.", item)
    alike = stems[:, None] == stems[None, :]
    np.fill_diagonal(alike, False)
    has_partner = np.flatnonzero(alike.any(axis=1))
    nearer = [
        float((likeness[i][alike[i]][:, None] > likeness[i][~alike[i]]).mean()) for i in has_partner
    ]
    report.claim(
        item,
        "components discover words of similar meaning",
        f"a word of the same stem is nearer than {np.mean(nearer):.0%} of the other words, on "
        f"average over {len(nearer)} words",
        bool(np.mean(nearer) > 0.75),
        ours="nearer than three quarters of them; by chance it would be half",
    )
