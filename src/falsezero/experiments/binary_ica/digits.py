"""Binary ICA paper, section 4.2: restoration of corrupted digits (Figs. 3-14)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ks_2samp, spearmanr
from sklearn.metrics import roc_auc_score

from falsezero.analysis.metrics import denoising_auc
from falsezero.analysis.noise import find_phantoms
from falsezero.data.corrupt import corrupt
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.datasets import Dataset
from falsezero.experiments._methods import fitted, restored
from falsezero.experiments._report import Report
from falsezero.experiments._strips import as_probabilities, strip
from falsezero.plot import (
    BoxesDisplay,
    ComponentImagesDisplay,
    CurvesDisplay,
    MatricesDisplay,
)

OMIT = 0.6
THRESHOLD = 0.1
RIVALS = ("MB", "LPCA", "BNMF")
Pair = tuple[Table, Table]


def digits_pair(data: Dataset) -> Pair:
    """Digits 0 to 4, clean and corrupted, in a random order."""
    rows = np.flatnonzero(np.asarray(data.target) <= 4)
    clean = data.table.select(rows=np.isin(np.arange(data.table.shape[0]), rows))
    order = np.random.default_rng(0).permutation(clean.shape[0])
    clean = Table(clean.values[order], columns=clean.columns, name="digits 0-4")
    return clean, corrupt(clean, omit=OMIT, random_state=0)


def keep_content(model: Any) -> np.ndarray:
    """The paper's rule: a component whose mean is below 0.1 is noise."""
    keep = (model.components_.mean(axis=1) >= THRESHOLD).astype(float)
    return keep if keep.any() else np.ones_like(keep)


def auc_of(name: str, model: Any, pair: Pair) -> float:
    """Area under the ROC curve at the zeros of the corrupted table; "post" removes the noise."""
    return denoising_auc(*pair, _values(name, model, pair[1]))


def _values(name: str, model: Any, spoilt: Table) -> np.ndarray:
    return restored(model, spoilt, keep_content(model) if name.endswith("-post") else None)


def part(pair: Pair, rows: Any) -> Pair:
    """The same rows of the clean and the corrupted table."""
    mask = np.zeros(pair[0].shape[0], dtype=bool)
    mask[rows] = True
    return pair[0].select(rows=mask), pair[1].select(rows=mask)


def representation(report: Report, data: Dataset) -> None:
    """Figures 3 to 7: the components, the noise among them, and the restored digits."""
    report.section(
        "Figures 3 to 7: components of corrupted digits",
        f"Every digit loses a share of Uniform[0, {OMIT}] of its pixels (the paper does not give "
        "its degree of corruption).",
    )
    pair = digits_pair(data)
    clean, spoilt = pair
    model = fitted("bBICA", spoilt, 12, n_init=1 if report.quick else 5)
    shape: Any = data.image_shape
    images = ComponentImagesDisplay.from_estimator(model, shape)
    report.figure(images, "Figure 4, left: bBICA.", "Figure 4, left")
    noise = np.flatnonzero(keep_content(model) == 0)
    report.claim(
        "Figure 4, left",
        "one component is blank: it separates out the corruption",
        f"{len(noise)} of 12 below a mean of {THRESHOLD}; find_phantoms names "
        f"{len(find_phantoms(model).white)}",
        len(noise) == 1,
    )
    some = model.row_weights_[:15].T
    display = MatricesDisplay({"weights": some}, "digit of Figure 3", "component", (0.0, 1.0))
    finding = ", ".join(str(k + 1) for k in noise) or "none"
    caption = f"Figure 4, right: weights of the digits of Figure 3; noise is component {finding}."
    report.figure(display.plot(), caption, "Figure 4, right")
    lost = 1 - spoilt.to_numpy().sum(axis=1) / clean.to_numpy().sum(axis=1)
    weight = model.row_weights_[:, noise].sum(axis=1)
    rho = float(spearmanr(weight, lost).statistic) if len(noise) else float("nan")
    report.claim(
        "Figure 4, right",
        "the blank component is present in exactly the images that were degraded",
        f"Spearman correlation of its weight with the share of lost pixels: {rho:.2f}",
        rho > 0.7,
        ours="0.7",
    )
    before, after = (auc_of(name, model, pair) for name in ("bBICA", "bBICA-post"))
    _pictures(report, shape, pair, model)
    report.claim(
        "Figure 5",
        "removing the blank component restores the images",
        f"AUC {after:.3f} without it, {before:.3f} with it",
        after > before,
    )
    _rival_factors(report, shape, pair)


def _rival_factors(report: Report, shape: Any, pair: Pair) -> None:
    """Figures 6 and 7: factors and reconstructions of the other models."""
    for name in RIVALS:
        model = fitted(name, pair[1], 12, rough=name != "MB")
        factors = as_probabilities(model.components_, name)
        shades = {"LPCA": ", grey is zero", "BNMF": ", each to its own scale"}.get(name, "")
        strip(report, factors, shape, f"Figure 6: factors of {name}{shades}.", "Figure 6")
        grey = restored(model, pair[1])
        strip(report, grey[:15], shape, f"Figure 7: restored by {name}, grey.", "Figure 7")
        if name == "MB":
            emptiest = float(factors.mean(axis=1).min())
            report.claim(
                "Figure 6",
                "mixtures of Bernoulli do not separate out the noise",
                f"emptiest component of MB has a mean of {emptiest:.2f}; factors of LPCA and BNMF "
                "are no probabilities and are only drawn",
                emptiest >= THRESHOLD,
            )


def _pictures(report: Report, shape: Any, pair: Pair, model: Any) -> None:
    clean, spoilt = pair
    some = slice(0, 15)
    grey = restored(model, spoilt, keep_content(model))[some]
    for title, where, values in (
        ("clean", "Figure 3", clean.to_numpy()[some]),
        ("corrupted", "Figure 3", spoilt.to_numpy()[some]),
        ("restored, grey", "Figure 5", grey),
        ("restored, binary", "Figure 5", (grey >= 0.5).astype(float)),
    ):
        strip(report, values, shape, f"{where}: {title}.", where)


def curves(report: Report, data: Dataset) -> None:
    """Figures 8 to 11: AUC against the number of components, training and test halves."""
    report.section("Figures 8 to 11: denoising against the number of components")
    pair = digits_pair(data)
    train, test = part(pair, slice(0, 500)), part(pair, slice(500, None))
    orders = (5, 10, 15) if report.quick else (3, 5, 7, 10, 13, 16, 20, 25)
    lines: list[dict[str, Any]] = []
    for k in orders:
        for name in ("BICA", "bBICA", *RIVALS):
            model = fitted(name, train[1], k, rough=name in RIVALS)
            labels = (name, f"{name}-post") if name not in RIVALS else (name,)
            for label in labels:
                lines.append({"method": label, "k": k, **_all_auc(label, model, train, test)})
    for quantity, title, where in (
        ("weak", "denoising of BICA and bBICA, the training half unless strong", "Figure 8"),
        ("weak", "weak denoising (training half)", "Figure 9"),
        ("weak binary", "weak denoising, binary reconstruction", "Figure 9"),
        ("strong", "strong denoising (test half)", "Figure 10"),
        ("strong binary", "strong denoising, binary reconstruction", "Figure 10"),
        ("verbatim", "reconstruction of the corrupted table itself", "Figure 11"),
    ):
        chosen = [li for li in lines if where != "Figure 8" or li["method"] not in RIVALS]
        if where == "Figure 8":
            chosen += [{**li, "method": "bBICA-post, strong", "weak": li["strong"]}
                       for li in lines if li["method"] == "bBICA-post"]  # fmt: skip
        caption = f"{where}: {title}; area under the ROC curve."
        report.figure(_as_curves(chosen, quantity), caption, where)
    means = _means(lines)
    report.table(means, "Means over the numbers of components.")
    _judge_curves(report, {row["method"]: row for row in means.to_rows()})


def _all_auc(name: str, model: Any, train: Pair, test: Pair) -> dict[str, float]:
    weak, strong = (_values(name, model, pair[1]) for pair in (train, test))
    return {
        "weak": denoising_auc(*train, weak),
        "strong": denoising_auc(*test, strong),
        "weak binary": denoising_auc(*train, weak >= 0.5),
        "strong binary": denoising_auc(*test, strong >= 0.5),
        "verbatim": float(roc_auc_score(train[1].to_numpy().ravel(), weak.ravel())),
    }


def _as_curves(lines: list[dict[str, Any]], quantity: str) -> CurvesDisplay:
    found: dict[str, tuple[list[float], list[float]]] = {}
    for line in lines:
        x, y = found.setdefault(line["method"], ([], []))
        x.append(line["k"])
        y.append(line[quantity])
    return CurvesDisplay(found, "number of components", "AUC").plot()


def _means(lines: list[dict[str, Any]]) -> Tidy:
    names = list(dict.fromkeys(line["method"] for line in lines))
    quantities = ("weak", "weak binary", "strong", "strong binary", "verbatim")
    means = {
        q: [float(np.mean([li[q] for li in lines if li["method"] == name])) for name in names]
        for q in quantities
    }
    return Tidy({"method": names, **means})


def _judge_curves(report: Report, mean: dict[str, dict[str, float]]) -> None:
    for name in ("BICA", "bBICA"):
        with_, without = mean[name]["weak"], mean[f"{name}-post"]["weak"]
        report.claim(
            "Figure 8",
            f"post-processing improves the denoising of {name}",
            f"AUC {without:.3f} against {with_:.3f}",
            without > with_,
        )
    gap = abs(mean["BICA-post"]["weak"] - mean["bBICA-post"]["weak"])
    report.claim(
        "Figure 8",
        "BICA and bBICA denoise alike",
        f"AUC differs by {gap:.3f}",
        gap < 0.03,
        ours="0.03",
    )
    weak, strong = mean["bBICA-post"]["weak"], mean["bBICA-post"]["strong"]
    report.claim(
        "Figure 8",
        "strong denoising is not inferior to weak",
        f"AUC {strong:.3f} on new digits, {weak:.3f} on training digits",
        strong > weak - 0.02,
        ours="0.02",
    )
    for where, quantity in (("Figure 9", "weak"), ("Figure 10", "strong")):
        ours = mean["bBICA-post"]
        best = max(RIVALS, key=lambda name: mean[name][f"{quantity} binary"])
        report.claim(
            where,
            f"bBICA without noise is superior at binary reconstruction ({quantity})",
            f"{ours[f'{quantity} binary']:.3f} against {mean[best][f'{quantity} binary']:.3f} "
            f"({best})",
            ours[f"{quantity} binary"] > mean[best][f"{quantity} binary"],
        )
        grey = ours[quantity] - mean["LPCA"][quantity]
        report.claim(
            where,
            f"bBICA without noise is comparable with LPCA in grey ({quantity})",
            f"AUC {ours[quantity]:.3f} against {mean['LPCA'][quantity]:.3f}",
            grey > -0.03,
            ours="0.03",
        )
    best = max(mean, key=lambda name: mean[name]["verbatim"])
    report.claim(
        "Figure 11", "LPCA is fooled most into the corrupted data", f"{best} is", best == "LPCA"
    )
    a, b = mean["bBICA"]["verbatim"], mean["bBICA-post"]["verbatim"]
    report.claim(
        "Figure 11",
        "post-processing reconstructs the erroneous data less well",
        f"{b:.3f} against {a:.3f}",
        b < a,
    )


def training_size(report: Report, data: Dataset) -> None:
    """Figure 12: AUC against the size of the training set, K = 10."""
    report.section("Figure 12: size of the training set")
    pair = digits_pair(data)
    sizes = (200, 500, 800) if report.quick else tuple(range(200, 1000, 100))
    repeats = 3 if report.quick else 10
    found = {
        n: np.zeros((len(sizes), repeats)) for n in ("BICA weak", "bBICA weak", "bBICA strong")
    }
    for i, size in enumerate(sizes):
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(pair[0].shape[0])
            train, test = part(pair, order[:size]), part(pair, order[size:])
            for name in ("BICA", "bBICA"):
                model = fitted(name, train[1], 10, seed=repeat, rough=True)
                found[f"{name} weak"][i, repeat] = auc_of("-post", model, train)
            found["bBICA strong"][i, repeat] = auc_of("-post", model, test)
    curves = {n: (sizes, v.mean(axis=1), v.std(axis=1, ddof=1)) for n, v in found.items()}
    display = CurvesDisplay(curves, "training digits", "AUC").plot()
    report.figure(
        display,
        "Figure 12: denoising without the blank component; one standard deviation over repeats.",
        "Figure 12",
    )
    mean = {n: v.mean(axis=1).round(3).tolist() for n, v in found.items()}
    report.claim(
        "Figure 12",
        "weak denoising improves with the training set",
        f"BICA {mean['BICA weak']}, bBICA {mean['bBICA weak']} at {list(sizes)}",
        all(mean[f"{n} weak"][-1] > mean[f"{n} weak"][0] for n in ("BICA", "bBICA")),
    )
    strong = mean["bBICA strong"]
    middle = sizes.index(500)
    report.claim(
        "Figure 12",
        "strong denoising of bBICA levels off after about 500 digits",
        f"AUC {strong} at {list(sizes)}",
        _slope(sizes[middle:], strong[middle:]) < _slope(sizes[: middle + 1], strong[: middle + 1]),
    )


def _slope(x: Any, y: Any) -> float:
    return (y[-1] - y[0]) / (x[-1] - x[0])


def small_samples(report: Report, data: Dataset) -> None:
    """Figures 13 and 14: 125 training and 125 test digits."""
    report.section("Figures 13 and 14: small samples")
    pair = digits_pair(data)
    orders = range(9, 20, 5) if report.quick else range(9, 20)
    repeats = 3 if report.quick else 5
    names = ("BICA-post", "bBICA-post", *RIVALS)
    weak: dict[str, list[float]] = {name: [] for name in names}
    strong: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats):
        generator = np.random.default_rng(repeat)
        train = part(pair, generator.choice(500, 125, replace=False))
        test = part(pair, 500 + generator.choice(500, 125, replace=False))
        for k in orders:
            for name in names:
                model = fitted(name.removesuffix("-post"), train[1], k, seed=repeat, rough=True)
                weak[name].append(auc_of(name, model, train))
                strong[name].append(auc_of(name, model, test))
    for where, found, kind in (("Figure 13", weak, "weak"), ("Figure 14", strong, "strong")):
        caption = f"{where}: {kind} denoising, 125 digits."
        report.figure(BoxesDisplay(found, "AUC").plot(), caption, where)
        ours, means = "bBICA-post", {name: float(np.mean(v)) for name, v in found.items()}
        p = {name: float(ks_2samp(found[ours], found[name]).pvalue) for name in RIVALS}
        finding = ", ".join(f"{n} {means[n]:.3f} (P = {p[n]:.1g})" for n in RIVALS)
        report.claim(
            where,
            f"with 125 digits bBICA without noise is significantly better ({kind})",
            f"{means[ours]:.3f} against {finding}",
            all(means[ours] > means[n] and p[n] < 0.05 for n in RIVALS),
        )
    p_two = float(ks_2samp(weak["BICA-post"], weak["bBICA-post"]).pvalue)
    report.claim(
        "Figure 13",
        "no significant difference between BICA and bBICA on weak denoising",
        f"P = {p_two:.2g}",
        p_two > 0.05,
    )
