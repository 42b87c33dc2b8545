"""Binary matrix factorization paper, section 4.2: digits (Fig. 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.tidy import Tidy
from falsezero.datasets import load_usps
from falsezero.experiments._report import Report
from falsezero.experiments.binary_matrix_factorization.strips import N_SHOWN, agreement, strip
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture
from falsezero.models.bmf.binary_matrix_factorization import BinaryMatrixFactorization
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli


def digits(report: Report) -> None:
    """Figure 4: digits 1, 2, 3 with bottom halves missing, by logistic factorization."""
    report.section("Figure 4: digits")
    data, shape = load_usps(), (16, 16)
    rng = np.random.default_rng(0)
    chosen = [rng.choice(np.flatnonzero(data.target == d), 100, replace=False) for d in (1, 2, 3)]
    full = data.table.to_numpy()[np.concatenate(chosen)]
    rows = rng.choice(len(full), N_SHOWN, replace=False)
    missing = np.zeros(full.shape, dtype=bool)
    missing[rows, full.shape[1] // 2 :] = True
    shown = np.where(missing, np.nan, full)
    warmup, draws = (100, 60) if report.quick else (1000, 400)
    model = BinaryMatrixFactorization(
        n_chains=2 if report.quick else 4, warmup=warmup, n_draws=draws, random_state=0, n_jobs=2
    ).fit(shown)
    report.text(agreement(model))
    held_out = np.where(missing, full, np.nan)
    ours = float(np.nanmean(model.log_predictive(held_out)))
    rivals = _digit_rivals(full, shown, missing, rows)
    means = _score(full, missing, np.broadcast_to(np.nanmean(shown, axis=0), full.shape))
    found = {"BMF": ours, "mean of the pixel": means, **rivals}
    table = Tidy(method=list(found), log_predictive=list(found.values()))
    report.table(
        table,
        "Mean log predictive probability of a missing pixel. Not in the paper: nearest neighbours, "
        "mixtures and AspectBernoulli, whose sizes were chosen by looking at the answer.",
    )
    report.claim(
        "Figure 4, A-E",
        "BMF is able to impute missing data values",
        f"log predictive probability {ours:.3f}; the means of the pixels have {means:.3f}, nearest "
        f"neighbours at their best {rivals['nearest neighbours']:.3f}",
        ours > means,
        ours="better than the mean of every pixel",
    )
    expected = model.posterior_predict()
    top = slice(0, full.shape[1] // 2)
    others = np.setdiff1d(np.arange(len(full)), rows)
    distance = np.abs(full[rows][:, None, top] - full[others][None, :, top]).sum(axis=2)
    joined = full[rows].copy()
    joined[:, full.shape[1] // 2 :] = full[others[distance.argmin(axis=1)], full.shape[1] // 2 :]
    for caption, values in {
        "A: digits": full[rows],
        "B: the data, missing halves grey": np.where(missing, 0.5, full)[rows],
        "C: mean of the reconstruction": expected[rows],
        "D: mode of the reconstruction": (expected[rows] > 0.5).astype(float),
        "E: bottom half of the nearest neighbour": joined,
    }.items():
        strip(report, values, shape, f"Figure 4 {caption}.", "Figure 4, A-E")
    average = (model.row_features_.T @ full) / np.maximum(model.row_features_.sum(0), 1)[:, None]
    for caption, values in {
        "F: average of the digits of a feature": average,
        "G: basis images W V'": model.components_,
        "H: column features V": model.column_features_.T,
    }.items():
        strip(report, values, shape, f"Figure 4 {caption}.", "Figure 4, F-H")


def _digit_rivals(
    full: np.ndarray, shown: np.ndarray, missing: np.ndarray, rows: np.ndarray
) -> dict[str, float]:
    """Log predictive of each rival, its size chosen by looking at the answer: to their favour."""
    top = slice(0, full.shape[1] // 2)
    others = np.setdiff1d(np.arange(len(full)), rows)
    distance = np.abs(full[rows][:, None, top] - full[others][None, :, top]).sum(axis=2)
    nearest = others[np.argsort(distance, axis=1)]
    best = {"nearest neighbours": -np.inf}
    for count in (1, 3, 5, 10, 20):
        guess = full.copy()
        guess[rows] = (full[nearest[:, :count]].sum(axis=1) + 0.5) / (count + 1)
        best["nearest neighbours"] = max(best["nearest neighbours"], _score(full, missing, guess))
    for cls in (BernoulliMixture, AspectBernoulli):
        options: dict[str, Any] = {"prior": 0, "n_init": 3, "random_state": 0}
        fits = (cls(n_components=k, **options).fit(shown) for k in (3, 5, 8, 12))
        best[cls.__name__] = max(_score(full, missing, fit.reconstruct(shown)) for fit in fits)
    return best


def _score(full: np.ndarray, missing: np.ndarray, probability: np.ndarray) -> float:
    """Mean log predictive probability of the missing pixels."""
    p = np.clip(probability[missing], 1e-3, 1 - 1e-3)
    return float(np.where(full[missing] == 1, np.log(p), np.log(1 - p)).mean())
