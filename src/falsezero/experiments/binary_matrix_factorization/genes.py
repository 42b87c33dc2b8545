"""Binary matrix factorization paper, section 4.3: gene expression (Fig. 5)."""

from __future__ import annotations

import time
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
    n_genes, sweeps = (500, 100) if report.quick else (2000, 1500)
    varied = np.argsort(-logs.var(axis=0))[:n_genes]
    table = logs[:, varied]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    # Every fifth draw is kept: all of them would take gigabytes and tell no more.
    began = time.process_time()
    model = BinaryMatrixFactorization(
        likelihood="gaussian", n_chains=2, warmup=sweeps // 2, n_draws=sweeps // 10, thin=5,
        random_state=0, n_jobs=2,
    ).fit(table)  # fmt: skip
    seconds = time.process_time() - began
    report.text(
        f"{sweeps} sweeps of two chains took {seconds:.0f} s of processor time. {agreement(model)}"
    )
    aml = np.asarray(data.target) == "AML"
    learnt = model.row_features_[:, 1:].astype(bool)
    p = [float(fisher_exact(_crossed(feature, aml)).pvalue) for feature in learnt.T]
    report.text(
        "Not in the paper: whether a feature of patients goes with the kind of leukaemia. Fisher's "
        f"test gives P = {min(p):.1e} at best among {len(p)} features, so "
        f"{min(min(p) * len(p), 1):.2g} after Bonferroni."
    )
    _judge(report, learnt)
    _picture(report, table, model)


def _judge(report: Report, learnt: np.ndarray) -> None:
    """Clusters of patients: the rows of each learned feature."""
    size, shared = learnt.mean(axis=0), learnt[learnt.sum(axis=1) > 1].sum(axis=0)
    alone = int((shared < learnt.sum(axis=0)).sum())
    several = (learnt.sum(axis=1) > 1).mean()
    report.claim(
        "Figure 5",
        "clusters are broad and overlapping, or small",
        f"{(size > 0.2).sum()} of {len(size)} features have over a fifth of the patients, "
        f"{(size < 0.05).sum()} under a twentieth; {several:.0%} of the patients have several "
        f"features, {alone} of the features have patients of their own",
        bool((size > 0.2).sum() >= 2 and (size < 0.05).any() and several > 0.5),
        ours="two broad features, a small one, and half of the patients with several",
    )


def _picture(report: Report, table: np.ndarray, model: Any) -> None:
    """Figure 5: the table and its reconstruction in the order of the features, regions framed."""
    rows, columns = model.picture_order()
    few = columns[:: max(1, len(columns) // 200)]
    u, v, w = model.row_features_[rows], model.column_features_[few], model.weights_
    limits = tuple(np.quantile(table, (0.02, 0.98)))
    panels = {"X": table[np.ix_(rows, few)], "U W V'": model.posterior_predict()[np.ix_(rows, few)]}
    display = MatricesDisplay(panels, "genes", "patients", limits)
    caption = (
        "Figure 5: table and reconstruction, ordered by the features of a draw; framed: the "
        "largest contiguous regions of four strong pairs of features."
    )
    report.figure(display.plot(regions=_regions(u, v, w)), caption, "Figure 5")
    report.figure(
        FeatureMatricesDisplay(u, w, v).plot(), "Figure 5: U, W and V of a draw.", "Figure 5"
    )


def _regions(
    u: np.ndarray, v: np.ndarray, w: np.ndarray, n_pairs: int = 4
) -> list[tuple[int, int, int, int]]:
    """The two largest contiguous regions of each of the strongest pairs of learned features.

    A pair is strong where its weight times the cells of these regions is large.
    """
    regions = {}
    for k in range(1, w.shape[0]):
        for m in range(1, w.shape[1]):
            pairs = [(*rows, *columns) for rows in _runs(u[:, k]) for columns in _runs(v[:, m])]
            regions[k, m] = sorted(pairs, key=_area, reverse=True)[:2]
    strength = {pair: abs(w[pair]) * sum(map(_area, of)) for pair, of in regions.items()}
    strongest = sorted(strength, key=strength.__getitem__, reverse=True)[:n_pairs]
    return [region for pair in strongest for region in regions[pair]]


def _area(region: tuple[int, int, int, int]) -> int:
    top, bottom, left, right = region
    return (bottom - top) * (right - left)


def _runs(on: np.ndarray) -> list[tuple[int, int]]:
    """Where each stretch of ones begins, and where it has ended.

    >>> _runs(np.array([1, 0, 1, 1, 0]))
    [(0, 1), (2, 4)]
    """
    edges = np.diff(np.r_[0, on.astype(int), 0])
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(),
                    strict=True))  # fmt: skip


def _crossed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.array([[(a & b).sum() for b in (other, ~other)] for a in (one, ~one)])
