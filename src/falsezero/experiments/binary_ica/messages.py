"""Binary ICA paper, sections 5.1 and 5.3: groups and messages (Tables 1-3, Figs. 16 and 17)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from falsezero.analysis.metrics import clustering_agreement
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import Dataset
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.plot import BoxesDisplay, CurvesDisplay


def groups(report: Report, data: Dataset) -> None:
    """Table 1 and Figures 16 and 17 on messages, in place of DNA fingerprints."""
    report.section(
        "Table 1, Figures 16 and 17: groups found without labels",
        "The paper's 89 fingerprints of four treatments are not public. Messages of four "
        "newsgroups stand for them, with a component more for the words left out; messages without "
        "any word of the dictionary are not used.",
    )
    spoken = data.table.to_numpy().sum(axis=1) > 0
    table, target = data.table.select(rows=spoken), np.asarray(data.target)[spoken]
    repeats = 20
    runs = {k: _runs(table, target, k, repeats) for k in (5, 8, 12)}
    _correlation(report, runs[5])
    boxes = BoxesDisplay({f"K = {k}": accuracy for k, (_, accuracy) in runs.items()}, "accuracy")
    report.figure(boxes.plot(), "Figure 17: accuracy over starts.", "Figure 17")
    best = {k: float(a[int(np.argmax(e))]) for k, (e, a) in runs.items()}
    report.claim(
        "Figure 17",
        "the best results in terms of the evidence are comparable whatever K was",
        ", ".join(f"K = {k}: {value:.0%}" for k, value in best.items()),
        max(best.values()) - min(best.values()) < 0.1,
        ours="10 points",
    )
    mixture = fitted("MB", table, 4, n_init=repeats)
    theirs = clustering_agreement(target, mixture.row_weights_.argmax(axis=1), "majority")
    rows = Tidy(method=["bBICA", "Bernoulli mixture"], accuracy=[best[5], theirs])
    report.table(rows, "Table 1: four components and a blank one, best of the starts.", "Table 1")
    report.claim(
        "Table 1",
        "bBICA matches the classes better than Bernoulli mixtures (paper: 93 % against 69 %)",
        f"{best[5]:.0%} against {theirs:.0%}",
        best[5] > theirs,
    )


def _runs(table: Table, target: np.ndarray, k: int, n: int) -> tuple[list[float], list[float]]:
    """Evidence bound and accuracy of every start."""
    found = [fitted("bBICA", table, k, seed=seed) for seed in range(n)]
    strongest = ((m.row_weights_ * _without_blank(m)).argmax(axis=1) for m in found)
    accuracy = [clustering_agreement(target, best, "majority") for best in strongest]
    return [float(model.evidence_) for model in found], accuracy


def _correlation(report: Report, runs: tuple[list[float], list[float]]) -> None:
    display = CurvesDisplay({"starts": runs}, "evidence bound", "accuracy").plot(dots=["starts"])
    report.figure(display, "Figure 16, left: bound and accuracy of every start.", "Figure 16")
    rho, p = spearmanr(*runs)
    report.claim(
        "Figure 16",
        "evidence bound and cluster accuracy correlate positively",
        f"Spearman correlation {rho:.2f} over {len(runs[0])} starts, P = {p:.2g}",
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
        "a matter of reading, no figure stands for it",
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
