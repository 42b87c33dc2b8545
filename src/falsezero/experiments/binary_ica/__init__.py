"""The binary ICA paper: its tables and figures beside ours.

A. Kabán and E. Bingham, "Factorisation and denoising of 0-1 data: a variational approach",
Neurocomputing 71 (2008).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from falsezero.analysis.metrics import clustering_agreement
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import (
    Dataset,
    load_mfeat_digits,
    load_monks,
    load_newsgroups4,
    make_aspect_bernoulli,
)
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.experiments.binary_ica import digits as digit_images
from falsezero.plot import ConvergenceDisplay, CurvesDisplay, TernaryDisplay

__all__ = ["run"]

WAVERERS = ("Victor", "Romauld", "Amand")
"""The three monks between the groups (White, Boorman and Breiger, 1976), spelt as in the data."""


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper on the data that can be had; returns the path of the report."""
    report = Report("Binary ICA, repeated", __doc__.split("\n\n")[1], quick)
    digits = load_mfeat_digits()
    toy(report)
    digit_images.representation(report, digits)
    digit_images.curves(report, digits)
    digit_images.training_size(report, digits)
    digit_images.small_samples(report, digits)
    monks(report, load_monks())
    messages(report, load_newsgroups4(n_documents=125, random_state=0))
    _untestable(report)
    return report.write(Path(out_dir))


def toy(report: Report) -> None:
    """Figure 2: the bound rises at every step, and peaks at the right number of components."""
    report.section("Figure 2: a toy drawn from the model")
    starts = 5 if report.quick else 20
    for name, concentration in (("uniform mixing", 1.0), ("sparse mixing", 0.1)):
        table = make_aspect_bernoulli(
            150, 30, 3, concentration=concentration, shape=(0.5, 0.5), random_state=1
        ).table
        models = {k: fitted("bBICA", table, k, n_init=starts, tol=1e-8) for k in range(2, 7)}
        bound = np.array([row["objective"] for row in models[3].history_])
        fall = float(np.minimum(np.diff(bound), 0).min())
        if concentration == 1.0:
            display = ConvergenceDisplay.from_estimator(models[3])
            report.figure(display, "Figure 2, left: the evidence bound over the iterations.")
            found = f"largest fall {abs(fall):.1g}"
            report.claim("Figure 2", "the evidence bound never falls", found, fall > -1e-6)
        evidence = {k: float(model.evidence_) for k, model in models.items()}
        display = CurvesDisplay({name: (list(evidence), list(evidence.values()))}, "K", "bound")
        report.figure(display.plot(), f"Figure 2, right: evidence bound by K, {name}.")
        best = max(evidence, key=lambda k: evidence[k])
        report.claim(
            "Figure 2",
            f"the bound peaks at the true K = 3 ({name})",
            f"it peaks at K = {best}",
            best == 3,
        )


def monks(report: Report, data: Dataset) -> None:
    """Figure 18: three groups of monks, and waverers between two of them."""
    report.section("Figure 18: Sampson's monks")
    model = fitted("bBICA", data.table, 3, n_init=20 if report.quick else 50, tol=1e-7)
    groups = np.where(
        np.isin(data.table.rows, WAVERERS), "waverer", np.asarray(data.target).astype(str)
    )
    report.figure(
        TernaryDisplay.from_estimator(model, data.table, groups),
        "Posterior means of the mixing weights of each monk.",
    )
    waverer = groups == "waverer"
    strongest = model.row_weights_.argmax(axis=1)
    agreement = clustering_agreement(groups[~waverer], strongest[~waverer])
    report.claim(
        "Figure 18",
        "the three groups are well separated",
        f"{agreement:.0%} of the monks who do not waver are in the component of their group",
        agreement >= 0.8,
    )
    entropy = -(model.row_weights_ * np.log(model.row_weights_ + 1e-12)).sum(axis=1)
    mixed, others = float(entropy[waverer].mean()), float(entropy[~waverer].mean())
    report.claim(
        "Figure 18",
        "waverers stand between groups, as two of the paper's three do",
        f"mean entropy of their weights {mixed:.2f}, of the others' {others:.2f}",
        mixed > others,
    )


def messages(report: Report, data: Dataset) -> None:
    """Tables 2 and 3: messages expanded, those fitted and those held out."""
    report.section("Tables 2 and 3: short messages expanded")
    table, groups = data.table, np.asarray(data.target)
    test = np.arange(table.shape[0]) % 5 == 0
    train = table.select(rows=~test)
    model = fitted("bBICA", train, 6, n_init=5 if report.quick else 20)
    keep = _without_blank(model)
    blank = int((keep == 0).sum())
    report.claim("Table 2", "at least one factor is blank", f"{blank} of 6", blank >= 1)
    for where, part in (("Table 2", train), ("Table 3", table.select(rows=test))):
        report.table(_expansions(model, part, keep), f"{where}: words present, words expected.")
    weights = model.row_weights_ * keep
    mismatch = 1 - clustering_agreement(groups[~test], weights.argmax(axis=1), "majority")
    report.claim(
        "Section 5.3",
        "without the blank factor, components agree with the newsgroups (paper: mismatch 5.75 %)",
        f"mismatch {mismatch:.1%}",
        mismatch < 0.15,
    )
    report.claim(
        "Tables 2 and 3",
        "words expected are semantically related to the words present",
        "see the tables: a matter of reading, no figure stands for it",
        None,
    )


def _without_blank(model: Any) -> np.ndarray:
    """A blank factor makes far fewer ones than the table has."""
    mean = model.components_.mean(axis=1)
    density = float(model.row_weights_.mean(axis=0) @ mean)
    return (mean >= density / 3).astype(float)


def _expansions(model: Any, table: Table, keep: np.ndarray, n: int = 16) -> Tidy:
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


def _untestable(report: Report) -> None:
    report.section("What the data cannot support")
    missing = {
        "Table 1, Figures 15-17": "bBICA finds the four treatment groups of DNA fingerprints",
        "Figures 19 and 20": "bBICA finds groups and noise in a chat network of 844 people",
    }
    for where, claim in missing.items():
        report.claim(where, claim, "the data of this section are not public", None)
