"""The binary matrix factorization paper: bars, digits and genes, beside ours.

E. Meeds, Z. Ghahramani, R. Neal and S. Roweis, "Modeling dyadic data with binary latent factors",
Advances in Neural Information Processing Systems 19 (2007).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from falsezero.data.tidy import Tidy
from falsezero.datasets import load_golub, load_usps
from falsezero.experiments._report import Report
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture
from falsezero.models.bmf.binary_matrix_factorization import BinaryMatrixFactorization
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.plot import ComponentImagesDisplay, CurvesDisplay, FeatureMatricesDisplay

__all__ = ["make_bars", "run"]

SIDE = 8
N_SHOWN = 14


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper's experiments; returns the path of the report."""
    report = Report("Binary matrix factorization, repeated", __doc__.split("\n\n")[1], quick)
    bars(report)
    digits(report)
    genes(report)
    return report.write(Path(out_dir))


def _agreement(model: BinaryMatrixFactorization) -> str:
    """How far the chains of a fit agree, in a sentence."""
    return (
        f"{model.n_chains} chains: R-hat {model.r_hat_:.2f}, effective sample size "
        f"{model.ess_:.0f} (log densities and features per row and column)."
    )


class Bars(NamedTuple):
    """Images of bars, as they are, as they were drawn and as they are shown to the model."""

    clean: np.ndarray
    noisy: np.ndarray
    shown: np.ndarray
    n_row_features: int


def make_bars(
    rng: np.random.Generator, n: int = 200, n_missing: int = 50, concentration: float = 1.0
) -> Bars:
    """Section 4.1: V is the 16 bars of 8 x 8 images, U from the Indian buffet, theta = phi = 1/2.

    >>> make_bars(np.random.default_rng(0), n=20, n_missing=5).shown.shape
    (20, 64)
    """
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    on = np.hstack([rows[:, None] == np.arange(SIDE), columns[:, None] == np.arange(SIDE)])
    u = _buffet(n, concentration, rng)
    weights = rng.standard_normal((u.shape[1], 2 * SIDE)) * np.sqrt(2)
    clean = u @ weights @ on.T
    noisy = clean + rng.standard_normal(clean.shape) * np.sqrt(2)
    shown = noisy.copy()
    shown[rng.choice(n, n_missing, replace=False), SIDE * SIDE // 2 :] = np.nan
    return Bars(clean, noisy, shown, u.shape[1])


def _buffet(n: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    u = np.zeros((n, 0))
    for i in range(n):
        u[i] = rng.random(u.shape[1]) * (i + 1) < u[:i].sum(axis=0)
        new = np.zeros((n, rng.poisson(concentration / (i + 1))))
        new[i] = 1
        u = np.hstack([u, new])
    return u


def bars(report: Report) -> None:
    """Figures 2 and 3: missing bottom halves of images of bars, with and without split-merge."""
    report.section("Figures 2 and 3: bars")
    n_sets, sweeps = (4, 600) if report.quick else (10, 1000)
    rows, curves = [], {}
    for number in range(n_sets):
        made = make_bars(np.random.default_rng(number))
        models = {}
        for split_merge in (0, 1):
            model = BinaryMatrixFactorization(
                likelihood="gaussian", bias=False, n_chains=2, warmup=sweeps // 2,
                n_draws=sweeps // 2, split_merge=split_merge, start="prior", random_state=number,
                n_jobs=2,
            )  # fmt: skip
            models[split_merge] = model.fit(made.shown)
        found = _bars_found(made, models)
        rows.append({"set": number, **found, "r_hat": models[1].r_hat_, "ess": models[1].ess_})
        curves = {
            f"{'with' if m.split_merge else 'without'} split-merge": _path(m)
            for m in models.values()
        }
    table = Tidy.from_rows(rows)
    report.table(table, "Row features and errors at missing cells, one line a data set.")
    display = CurvesDisplay(curves, "seconds", "log joint density").plot()
    report.figure(display, "Log joint density against time, last data set, first chain.")
    _show_bars(report, made, models[1])
    _judge_bars(report, table)


def _bars_found(made: Bars, models: dict[int, Any]) -> dict[str, Any]:
    missing = np.isnan(made.shown)
    floor = _rms((made.clean - made.noisy)[missing])
    best = models[1]
    found = np.median([c["n_row_features"] for c in best.chains_])
    target = min(float(np.mean(m.chains_[0]["log_joint"])) for m in models.values()) - 20
    return {
        "true features": made.n_row_features,
        "found": float(found),
        "column features": float(np.median([c["n_column_features"] for c in best.chains_])),
        "error / noise": _rms((best.posterior_predict() - made.noisy)[missing]) / floor,
        "without split-merge": _rms((models[0].posterior_predict() - made.noisy)[missing]) / floor,
        "seconds to the same density": _reached(models[1], target, "seconds"),
        "seconds without": _reached(models[0], target, "seconds"),
        "sweeps": _reached(models[1], target, "iteration"),
        "sweeps without": _reached(models[0], target, "iteration"),
    }


def _judge_bars(report: Report, table: Tidy) -> None:
    ratio = table["error / noise"]
    report.claim(
        "Figure 2",
        "missing cells are restored nearly down to the noise (within 15 %)",
        f"error / noise: median {np.median(ratio):.3f}, worst {ratio.max():.3f}",
        bool((ratio < 1.15).all()),
    )
    near = np.abs(table["found"] - table["true features"]) <= 2
    report.claim(
        "Figure 3",
        "the number of row features is found within 2 of the truth in 8 of 10 sets",
        f"{near.sum()} of {len(near)}",
        bool(near.mean() >= 0.8),
    )
    for unit, name in (("seconds", "seconds to the same density"), ("sweeps", "sweeps")):
        ours, plain = np.median(table[name]), np.median(table[f"{unit} without"])
        report.claim(
            "section 3.3",
            f"split-merge shortens the way to the same density, in {unit}",
            f"median {ours:.3g} with, {plain:.3g} without",
            bool(ours < plain),
        )


def _show_bars(report: Report, made: Bars, model: Any) -> None:
    some = np.flatnonzero(np.isnan(made.shown).any(axis=1))[:N_SHOWN]
    pictures = {
        "A: noisy images": made.noisy,
        "B: without noise": made.clean,
        "D: reconstruction, bottom halves missing": model.posterior_predict(),
    }
    for caption, values in pictures.items():
        _strip(report, values[some], (SIDE, SIDE), f"Figure 2 {caption}.")
    _strip(report, model.components_, (SIDE, SIDE), "Figure 3: basis images W V' of a draw.")
    _strip(report, model.column_features_.T, (SIDE, SIDE), "Figure 3: column features V.")


def digits(report: Report) -> None:
    """Figure 4: digits 1, 2, 3 with bottom halves missing, by logistic factorization."""
    report.section("Figure 4: digits")
    data, shape = load_usps(), (16, 16)
    rng = np.random.default_rng(0)
    chosen = [rng.choice(np.flatnonzero(data.target == d), 100, replace=False) for d in (1, 2, 3)]
    full = data.table.to_numpy()[np.concatenate(chosen)]
    rows = rng.choice(len(full), 48, replace=False)
    missing = np.zeros(full.shape, dtype=bool)
    missing[rows, full.shape[1] // 2 :] = True
    shown = np.where(missing, np.nan, full)
    warmup, draws = (100, 60) if report.quick else (400, 200)
    model = BinaryMatrixFactorization(
        n_chains=2 if report.quick else 4, warmup=warmup, n_draws=draws, random_state=0, n_jobs=2
    ).fit(shown)
    report.text(_agreement(model))
    held_out = np.where(missing, full, np.nan)
    ours = float(np.nanmean(model.log_predictive(held_out)))
    rivals = _digit_rivals(full, shown, missing, rows)
    table = Tidy(method=["BMF", *rivals], log_predictive=[ours, *rivals.values()])
    report.table(table, "Mean log predictive probability of a missing pixel; rivals at their best.")
    best = max(rivals, key=lambda name: rivals[name])
    report.claim(
        "Figure 4",
        "BMF predicts missing halves better than nearest neighbours and mixtures",
        f"BMF {ours:.4f}, best rival {best} {rivals[best]:.4f}",
        ours > rivals[best],
    )
    expected = model.posterior_predict()
    for caption, values in {
        "A: digits": full,
        "C: mean of the reconstruction": expected,
        "D: mode of the reconstruction": (expected > 0.5).astype(float),
    }.items():
        _strip(report, values[rows[:N_SHOWN]], shape, f"Figure 4 {caption}.")
    average = (model.row_features_.T @ full) / np.maximum(model.row_features_.sum(0), 1)[:, None]
    _strip(report, average, shape, "Figure 4 F: average of the digits of a feature.")
    _strip(report, model.components_, shape, "Figure 4 G: basis images W V'.")
    _strip(report, model.column_features_.T, shape, "Figure 4 H: column features V.")


def _digit_rivals(
    full: np.ndarray, shown: np.ndarray, missing: np.ndarray, rows: np.ndarray
) -> dict[str, float]:
    """Log predictive of each rival, its size chosen by looking at the answer: to their favour."""

    def score(probability: np.ndarray) -> float:
        p = np.clip(probability[missing], 1e-3, 1 - 1e-3)
        return float(np.where(full[missing] == 1, np.log(p), np.log(1 - p)).mean())

    top = slice(0, full.shape[1] // 2)
    others = np.setdiff1d(np.arange(len(full)), rows)
    distance = np.abs(full[rows][:, None, top] - full[others][None, :, top]).sum(axis=2)
    nearest = others[np.argsort(distance, axis=1)]
    best = {"nearest neighbours": -np.inf}
    for count in (1, 3, 5, 10, 20):
        guess = full.copy()
        guess[rows] = (full[nearest[:, :count]].sum(axis=1) + 0.5) / (count + 1)
        best["nearest neighbours"] = max(best["nearest neighbours"], score(guess))
    for cls in (BernoulliMixture, AspectBernoulli):
        options: dict[str, Any] = {"prior": 0, "n_init": 3, "random_state": 0}
        fits = (cls(n_components=k, **options).fit(shown) for k in (3, 5, 8, 12))
        best[cls.__name__] = max(score(fit.reconstruct(shown)) for fit in fits)
    return best


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
    report.text(f"{sweeps} sweeps of two chains took {seconds:.0f} s. {_agreement(model)}")
    aml = np.asarray(data.target) == "AML"
    learnt = model.row_features_[:, 1:].astype(bool)
    p = [float(fisher_exact(_crossed(feature, aml)).pvalue) for feature in learnt.T]
    report.claim(
        "Figure 5",
        "a row feature goes with the kind of leukaemia (Fisher's test, Bonferroni at 5 %)",
        f"smallest P = {min(p):.1e} among {len(p)} features",
        min(p) * len(p) < 0.05,
    )
    overlap = (learnt.sum(axis=1) > 1).mean()
    report.claim(
        "Figure 5",
        "clusters overlap: patients have several features",
        f"{overlap:.0%} of the patients have more than one",
        bool(overlap > 0.5),
    )
    rows, columns = model.picture_order()
    few = columns[:: max(1, len(columns) // 200)]
    display = FeatureMatricesDisplay(
        model.row_features_[rows], model.weights_, model.column_features_[few]
    )
    report.figure(display.plot(), "Figure 5: U, W and V of a draw, patients and genes ordered.")


def _crossed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.array([[(a & b).sum() for b in (other, ~other)] for a in (one, ~one)])


def _strip(report: Report, images: np.ndarray, shape: tuple[int, int], caption: str) -> None:
    """Images in a row, each scaled to its own range."""
    low, high = images.min(axis=1, keepdims=True), images.max(axis=1, keepdims=True)
    scaled = (images - low) / np.maximum(high - low, 1e-12)
    kinds = ["content"] * len(images)
    display = ComponentImagesDisplay(scaled.reshape(-1, *shape), scaled.mean(axis=1), kinds)
    report.figure(display.plot(), caption)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def _path(model: Any) -> tuple[list[float], list[float], list[float]]:
    """Seconds and log joint of the first chain."""
    history = [row for row in model.history_ if row["chain"] == 0][:: max(1, model.n_iter_ // 100)]
    seconds = [row["seconds"] for row in history]
    return seconds, [row["objective"] for row in history], [0.0] * len(seconds)


def _reached(model: Any, target: float, unit: str) -> float:
    """When the first chain first reached a log joint density."""
    reached = [
        row[unit] for row in model.history_ if row["chain"] == 0 and row["objective"] > target
    ]
    return float(reached[0]) if reached else float("inf")
