"""Binary ICA paper, sections 5.1 and 5.3: groups and messages (Tables 1-3, Figs. 15-17)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import BernoulliNB

from falsezero.analysis.metrics import clustering_agreement
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import Dataset
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.plot import BoxesDisplay, CurvesDisplay, MatricesDisplay


def groups(report: Report, data: Dataset) -> None:
    """Table 1 and Figures 15 to 17 on messages, in place of DNA fingerprints."""
    report.section(
        "Table 1, Figures 15 to 17: groups found without labels",
        "The paper's 89 fingerprints of four treatments are not public. Messages of four "
        "newsgroups stand in for them, with one more component for the words left out; messages "
        "without any word of the dictionary are not used.",
    )
    spoken = data.table.to_numpy().sum(axis=1) > 0
    table, target = data.table.select(rows=spoken), np.asarray(data.target)[spoken]
    repeats = 20
    runs = {k: _runs(table, target, k, repeats) for k in (5, 12, 16)}
    best = {k: of.models[int(np.argmax(of.evidence))] for k, of in runs.items()}
    _decomposition(report, best[5], table, target)
    _correlation(report, runs[5])
    boxes = BoxesDisplay({f"K = {k}": of.accuracy for k, of in runs.items()}, "accuracy")
    report.figure(boxes.plot(), "Figure 17: accuracy over starts.", "Figure 17")
    accuracy = {k: of.accuracy[int(np.argmax(of.evidence))] for k, of in runs.items()}
    report.claim(
        "Figure 17",
        "the best results in terms of the evidence are comparable whatever K was",
        ", ".join(f"K = {k}: {value:.0%}" for k, value in accuracy.items()),
        max(accuracy.values()) - min(accuracy.values()) < 0.1,
        ours="10 points",
    )
    mixture = fitted("MB", table, 4, n_init=repeats)
    _matches(report, target, _strongest(best[5]), mixture.row_weights_.argmax(axis=1))
    _supervised(report, table.to_numpy(), target, _strongest(best[5]))


def _supervised(report: Report, values: np.ndarray, target: np.ndarray, ours: np.ndarray) -> None:
    """Table 1: the components beside a classifier that has seen all labels but one."""
    found = cross_val_predict(BernoulliNB(), values, target, cv=LeaveOneOut())
    agreement = clustering_agreement(target, ours, "majority")
    report.claim(
        "Table 1",
        "without labels bBICA agrees better with the classes than leave-one-out classification "
        "(paper: 93 % against 88 %)",
        f"{agreement:.1%} against {(found == target).mean():.1%} by naive Bayes",
        bool(agreement > (found == target).mean()),
    )


class Runs(NamedTuple):
    """Some starts: the fits, their evidence bounds, and how well they match the groups."""

    models: list[Any]
    evidence: list[float]
    accuracy: list[float]


def _runs(table: Table, target: np.ndarray, k: int, n: int) -> Runs:
    models = [fitted("bBICA", table, k, seed=seed) for seed in range(n)]
    accuracy = [clustering_agreement(target, _strongest(m), "majority") for m in models]
    return Runs(models, [float(model.evidence_) for model in models], accuracy)


def _strongest(model: Any) -> np.ndarray:
    """The strongest component of every row, blank ones aside."""
    return (model.row_weights_ * _without_blank(model)).argmax(axis=1)


def _matches(report: Report, target: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Table 1: matches with every class, a component counting for the class of its majority."""
    names, true = np.unique(target, return_inverse=True)
    rows = [{"method": "true", **_per_class(names, true, true)}]
    total = {}
    for label, clusters in (("bBICA", ours), ("Bernoulli mixtures", theirs)):
        found = _majority(true, clusters)
        rows.append({"method": label, **_per_class(names, true, found)})
        total[label] = float((found == true).mean())
    caption = "Table 1: messages in the component of their group, best of the starts."
    report.table(Tidy.from_rows(rows), caption, "Table 1")
    report.claim(
        "Table 1",
        "bBICA matches the classes better than Bernoulli mixtures (paper: 93 % against 69 %)",
        f"{total['bBICA']:.1%} against {total['Bernoulli mixtures']:.1%}",
        total["bBICA"] > total["Bernoulli mixtures"],
    )


def _majority(true: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The class that each row gets from its cluster.

    >>> _majority(np.array([0, 0, 1, 1]), np.array([2, 2, 2, 0])).tolist()
    [0, 0, 0, 1]
    """
    crossed = np.zeros((clusters.max() + 1, true.max() + 1))
    np.add.at(crossed, (clusters, true), 1)
    return crossed.argmax(axis=1)[clusters]


def _per_class(names: np.ndarray, true: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    counts = {str(n): int(((true == i) & (found == i)).sum()) for i, n in enumerate(names)}
    return {**counts, "total": sum(counts.values()), "accuracy": f"{(found == true).mean():.0%}"}


def _decomposition(report: Report, model: Any, table: Table, target: np.ndarray) -> None:
    """Figure 15, weights and components; Figure 16, right, the weights as points."""
    order = np.lexsort((_strongest(model), target))
    panel = {"weights": model.row_weights_[order].T}
    display = MatricesDisplay(panel, "message, by newsgroup", "component", (0.0, 1.0))
    report.figure(display.plot(), "Figure 15 on messages: weights.", "Figure 15")
    words = np.lexsort((-model.components_.max(axis=0), model.components_.argmax(axis=0)))
    panel = {"components": model.components_[:, words]}
    display = MatricesDisplay(panel, "word, by its strongest component", "component", (0.0, 1.0))
    report.figure(display.plot(), "Figure 15 on messages: components.", "Figure 15")
    blank = int((_without_blank(model) == 0).sum())
    report.text(
        "The paper finds no noise component in its fingerprints. Messages leave words out: "
        f"{blank} of {len(model.components_)} components are blank."
    )
    content = model.row_weights_[:, _without_blank(model) == 1]
    content = content / content.sum(axis=1, keepdims=True)
    corner = 2 * np.pi * np.arange(content.shape[1]) / content.shape[1]
    x, y = content @ np.cos(corner), content @ np.sin(corner)
    dots = {str(name): (x[target == name], y[target == name]) for name in np.unique(target)}
    curves = CurvesDisplay(dots, "first coordinate", "second coordinate").plot(dots=list(dots))
    caption = (
        "Figure 16, right: weights without the blank component, the others at the corners of a "
        "polygon (the paper's plot has three dimensions)."
    )
    report.figure(curves, caption, "Figure 16")


def _correlation(report: Report, runs: Runs) -> None:
    pair = (runs.evidence, runs.accuracy)
    display = CurvesDisplay({"starts": pair}, "evidence bound", "accuracy").plot(dots=["starts"])
    report.figure(display, "Figure 16, left: bound and accuracy of every start.", "Figure 16")
    rho, p = spearmanr(*pair)
    n_optima = len(np.unique(np.round(runs.evidence, 1)))
    report.claim(
        "Figure 16",
        "evidence bound and cluster accuracy correlate positively",
        f"Spearman correlation {rho:.2f} over {len(runs.models)} starts, which end in {n_optima} "
        f"different optima, P = {p:.2g}",
        bool(rho > 0 and p < 0.05),
    )


def expansions(report: Report, data: Dataset) -> None:
    """Tables 2 and 3: messages expanded, those fitted and those held out."""
    report.section("Tables 2 and 3: short messages expanded")
    spoken = data.table.to_numpy().sum(axis=1) > 0
    table, target = data.table.select(rows=spoken), np.asarray(data.target)[spoken]
    test = np.arange(table.shape[0]) % 5 == 0
    train = table.select(rows=~test)
    model = fitted("bBICA", train, 6, n_init=5 if report.quick else 20)
    keep = _without_blank(model)
    blank = int((keep == 0).sum())
    report.claim("Table 2", "at least one factor is blank", f"{blank} of 6", blank >= 1)
    for where, part in (("Table 2", train), ("Table 3", table.select(rows=test))):
        caption = f"{where}: words present, words expected."
        report.table(_expanded(model, part, keep), caption, where)
    weights = model.row_weights_ * keep
    mismatch = 1 - clustering_agreement(target[~test], weights.argmax(axis=1), "majority")
    report.claim(
        "Section 5.3",
        "without the blank factor, components agree with the newsgroups (paper: mismatch 5.75 %)",
        f"mismatch {mismatch:.1%}",
        mismatch < 0.15,
        ours="15 %",
    )
    report.claim(
        "Table 3",
        "words expected are semantically related to the words present",
        "left to the reader: the paper gives no figure either",
        None,
    )


def _without_blank(model: Any) -> np.ndarray:
    """A blank factor makes far fewer ones than the table has."""
    mean = model.components_.mean(axis=1)
    density = float(model.row_weights_.mean(axis=0) @ mean)
    return (mean >= density / 3).astype(float)


def _expanded(model: Any, table: Table, keep: np.ndarray, n: int = 16) -> Tidy:
    probability = model.reconstruct(table, keep=keep).to_numpy()
    values = table.to_numpy()
    lines = []
    chosen = np.random.default_rng(1).choice(len(table), 6, replace=False)
    for i in chosen:
        absent = np.flatnonzero(values[i] == 0)
        best = absent[np.argsort(-probability[i, absent], kind="stable")[:n]]
        lines.append(
            {
                "words present": " ".join(map(str, table.columns[values[i] == 1])),
                "words expected": " ".join(
                    f"{table.columns[t]} {probability[i, t]:.2f}" for t in best
                ),
            }
        )
    return Tidy.from_rows(lines)
