"""Binary matrix factorization paper, section 4.3: gene expression (Fig. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import fisher_exact

from falsezero.datasets import load_golub
from falsezero.experiments._report import Report
from falsezero.experiments.binary_matrix_factorization.strips import agreement
from falsezero.models.bmf.binary_matrix_factorization import BinaryMatrixFactorization
from falsezero.plot import FeatureMatricesDisplay, MatricesDisplay


def genes(report: Report) -> None:
    """Figure 5: overlapping clusters of patients and genes in the leukaemia data."""
    report.section("Figure 5: gene expression")
    data = load_golub("expression")
    logs = np.log2(np.clip(data.table.to_numpy(), 20, 16000))
    n_genes, sweeps = (500, 100) if report.quick else (5000, 400)
    varied = np.argsort(-logs.var(axis=0))[:n_genes]
    table = logs[:, varied]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    model = BinaryMatrixFactorization(
        likelihood="gaussian", n_chains=2, warmup=sweeps // 2, n_draws=sweeps // 2, random_state=0,
        n_jobs=2,
    ).fit(table)  # fmt: skip
    seconds = max(row["seconds"] for row in model.history_)
    report.text(f"{sweeps} sweeps of two chains took {seconds:.0f} s. {agreement(model)}")
    aml = np.asarray(data.target) == "AML"
    learnt = model.row_features_[:, 1:].astype(bool)
    p = [float(fisher_exact(_crossed(feature, aml)).pvalue) for feature in learnt.T]
    report.claim(
        "Figure 5",
        "a row feature goes with the kind of leukaemia (Fisher's test, Bonferroni at 5 %)",
        f"smallest P = {min(p):.1e} among {len(p)} features",
        min(p) * len(p) < 0.05,
        ours="the test; the paper shows the picture",
    )
    overlap = (learnt.sum(axis=1) > 1).mean()
    report.claim(
        "Figure 5",
        "clusters overlap: patients have several features",
        f"{overlap:.0%} of the patients have more than one",
        bool(overlap > 0.5),
        ours="half of the patients",
    )
    _picture(report, table, model)


def _picture(report: Report, table: np.ndarray, model: Any) -> None:
    """Figure 5: the table and its reconstruction in the order of the features, regions framed."""
    rows, columns = model.picture_order()
    few = columns[:: max(1, len(columns) // 200)]
    u, v, w = model.row_features_[rows], model.column_features_[few], model.weights_
    limits = tuple(np.quantile(table, (0.02, 0.98)))
    panels = {"X": table[np.ix_(rows, few)], "U W V'": model.posterior_predict()[np.ix_(rows, few)]}
    display = MatricesDisplay(panels, "genes", "patients", limits)
    caption = "Figure 5: table and reconstruction, ordered; the strongest pairs of features framed."
    report.figure(display.plot(regions=_regions(u, v, w)), caption, "Figure 5")
    display = FeatureMatricesDisplay(u, w, v).plot()
    report.figure(display, "Figure 5: U, W and V of a draw.", "Figure 5")


def _regions(
    u: np.ndarray, v: np.ndarray, w: np.ndarray, n_pairs: int = 6
) -> list[tuple[int, int, int, int]]:
    """The largest contiguous block of each of the strongest pairs of learnt features."""
    strongest = np.argsort(-np.abs(w[1:, 1:]), axis=None)[:n_pairs]
    pairs = zip(*np.unravel_index(strongest, w[1:, 1:].shape), strict=True)
    found = []
    for k, m in pairs:
        top, bottom = _longest_run(u[:, 1 + k])
        left, right = _longest_run(v[:, 1 + m])
        found.append((top, bottom, left, right))
    return found


def _longest_run(on: np.ndarray) -> tuple[int, int]:
    """Where the longest stretch of ones begins, and where it has ended.

    >>> _longest_run(np.array([1, 0, 1, 1, 0]))
    (2, 4)
    """
    edges = np.diff(np.r_[0, on.astype(int), 0])
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not len(starts):
        return 0, 0
    best = int(np.argmax(ends - starts))
    return int(starts[best]), int(ends[best])


def _crossed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.array([[(a & b).sum() for b in (other, ~other)] for a in (one, ~one)])
