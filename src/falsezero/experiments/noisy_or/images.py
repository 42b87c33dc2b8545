"""Noisy-or paper, section 4: the image decomposition problem (Figs. 4-10)."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

from falsezero.analysis.align import match_components
from falsezero.analysis.metrics import reconstruction_error
from falsezero.data.blocks import Blocks
from falsezero.data.tidy import Tidy
from falsezero.datasets import make_noisy_or_images
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.models.noisy_or.likelihood import exact_log_likelihood
from falsezero.models.noisy_or.noisy_or import NoisyOr
from falsezero.models.noisy_or.steps import Sources
from falsezero.plot import ComponentImagesDisplay, CurvesDisplay

N_PATTERNS = 8


def _images(n_rows: int, seed: int) -> Any:
    return make_noisy_or_images(n_rows, random_state=seed)


def _fit(images: Any, n_sources: int, seed: int, **options: Any) -> NoisyOr:
    return NoisyOr(n_sources, random_state=seed, **options).fit(images.table)


def _found(model: NoisyOr, images: Any) -> int:
    """How many patterns have a source at a cosine of 0.9 or more."""
    return int((match_components(images.loadings, model.loadings_).similarity >= 0.9).sum())


def _true_log_likelihood(images: Any) -> float:
    rates = -np.log1p(-images.loadings), -np.log1p(-images.leak)
    truth = Sources(*rates, logit(images.priors), hold=0)
    blocks = Blocks.cut(images.table.values)
    return float(np.mean(np.concatenate([exact_log_likelihood(b, truth) for b in blocks])))


def recovery(report: Report) -> None:
    """Patterns found and likelihood of new images against the number of images (Figs. 5, 6)."""
    report.section("Figures 4-6: model reconstruction")
    sizes = (50, 200, 1000) if report.quick else (50, 100, 200, 500, 1000, 2000, 5000)
    trials = 3 if report.quick else 10
    rows, last = [], None
    for size in sizes:
        for trial in range(trials):
            train, test = _images(size, trial), _images(2000, 10_000 + trial)
            model = _fit(train, N_PATTERNS, trial)
            likelihood = float(model.log_likelihood(test.table).mean())
            truth = _true_log_likelihood(test)
            found = _found(model, train)
            rows.append({"images": size, "found": found, "new": likelihood, "truth": truth})
            last = model if size == 1000 else last
    table = Tidy.from_rows(rows)
    mean = {s: table["new"][table["images"] == s].mean() for s in sizes}
    error = [table["new"][table["images"] == s].std() for s in sizes]
    curve = {
        "fitted": (sizes, list(mean.values()), error),
        "truth": (sizes, [table["truth"].mean()] * len(sizes)),
    }
    display = CurvesDisplay(curve, "training images", "exact log likelihood of a new image").plot()
    display.ax_.set_xscale("log")
    report.figure(display, "Likelihood of 2000 new images, one standard deviation (Fig. 6).")
    report.figure(
        ComponentImagesDisplay.from_estimator(last, (8, 8)), "Loadings from 1000 images (Fig. 5)."
    )
    at = table.take(table["images"] == 1000)
    enough, gap = int((at["found"] >= 7).sum()), float((at["new"] / at["truth"] - 1).max())
    said = f"7 or more of 8 at cosine 0.9 in {enough} of {trials} data sets"
    report.claim("Fig. 5", "1000 images recover nearly all patterns", said, enough >= 0.9 * trials)
    said = f"at most {gap:.1%} below the generating model with 1000 images"
    report.claim("Fig. 6", "the model comes close to the true distribution", said, gap <= 0.02)
    rising = bool((np.diff(list(mean.values())) > 0).all())
    said = ", ".join(f"{size}: {value:.2f}" for size, value in mean.items())
    report.claim("Fig. 6", "more images, better likelihood", said, rising)


def choice(report: Report) -> None:
    """BIC and likelihood against the assumed number of sources (Fig. 7)."""
    report.section("Figure 7: how many sources")
    orders = (4, 6, 7, 8, 9, 12) if report.quick else tuple(range(2, 16))
    trials = 2 if report.quick else 10
    bic, bound, active = (np.empty((trials, len(orders))) for _ in range(3))
    for trial in range(trials):
        images = _images(2000, 1000 + trial)
        for i, order in enumerate(orders):
            model = _fit(images, order, trial)
            bic[trial, i], bound[trial, i] = model.bic() / 2, model.bound_
            active[trial, i] = model.active_.sum()
    for values, name in ((bic, "BIC"), (bound, "log likelihood (bound)")):
        curve = {name: (orders, values.mean(axis=0), values.std(axis=0))}
        display = CurvesDisplay(curve, "assumed sources", name).plot()
        report.figure(display, f"{name} of 2000 images, mean of {trials} data sets.")
    best = [orders[i] for i in bic.argmin(axis=1)]
    right = best.count(N_PATTERNS)
    said = f"in {right} of {trials} data sets"
    report.claim("Fig. 7a", "BIC is smallest at 8 sources", said, right >= 0.8 * trials)
    gain = bound[:, orders.index(12)] / bound[:, orders.index(8)] - 1
    said = f"12 sources change the likelihood by {np.abs(gain).max():.2%} at most"
    flat = bool(np.abs(gain).max() < 0.005)
    report.claim("Fig. 7b", "the likelihood levels off at 8 sources", said, flat)
    idle = 12 - active[:, orders.index(12)]
    said = f"{idle.min():.0f} to {idle.max():.0f} of 12 are reported inactive"
    report.claim("Section 4.2", "sources not needed are shut off", said, bool(idle.min() >= 3))


def run_time(report: Report) -> None:
    """Growth of the time for a fit in rows and in sources (Fig. 8)."""
    report.section("Figure 8: running time")
    rows = (500, 2000, 8000) if report.quick else (500, 1000, 2000, 4000, 8000, 16000)
    sources = (4, 8, 16, 32)
    _fit(_images(100, 0), 2, 0)
    by_rows = [_seconds(n, N_PATTERNS) for n in rows]
    by_sources = [_seconds(2000, k) for k in sources]
    for x, seconds, letter, name in (
        (rows, by_rows, "a", "training images"),
        (sources, by_sources, "b", "assumed sources"),
    ):
        for i, what in enumerate(("whole fit", "an iteration")):
            power = np.polyfit(np.log(x), np.log([s[i] for s in seconds]), 1)[0]
            claim = f"time of {what} grows about linearly in {name}"
            report.claim(f"Fig. 8{letter}", claim, f"power {power:.2f}", bool(power <= 1.15))
        curves = {
            what: (x, [s[i] for s in seconds]) for i, what in enumerate(("whole fit", "iteration"))
        }
        display = CurvesDisplay(curves, name, "seconds of processor time").plot()
        display.ax_.set(xscale="log", yscale="log")
        report.figure(display, f"Running time (Fig. 8{letter}).")


def _seconds(n_rows: int, n_sources: int) -> tuple[float, float]:
    """Processor time of a whole fit, and of one iteration."""
    images = _images(n_rows, 0)
    began = time.process_time()
    _fit(images, n_sources, 0, n_jobs=1)
    whole = time.process_time() - began
    marks: list[float] = []

    def listen(row: Any) -> None:
        marks.append(time.process_time())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options: dict[str, Any] = {"max_iter": 12, "tol": 0.0, "acceleration": None}
        _fit(images, n_sources, 0, n_jobs=1, callback=listen, **options)
    return whole, float(np.median(np.diff(marks[2:-1])))


def compression(report: Report) -> None:
    """Cells that change when images are kept as 8 bits, or as 8 numbers (Figs. 9, 10)."""
    report.section("Figures 9-10: compression")
    sizes = (50, 200, 1000) if report.quick else (50, 100, 200, 500, 1000, 2000)
    trials = 2 if report.quick else 5
    errors: dict[str, list[list[float]]] = {name: [] for name in _ERRORS}
    for size in sizes:
        runs = [_errors(size, trial) for trial in range(trials)]
        for name in errors:
            errors[name].append([run[name] for run in runs])
    curves = {n: (sizes, np.mean(e, axis=1), np.std(e, axis=1)) for n, e in errors.items()}
    display = CurvesDisplay(curves, "training images", "share of cells that differ").plot()
    display.ax_.set_xscale("log")
    report.figure(display, "Reconstruction error (Figs. 9a and 10a), one standard deviation.")
    train, test, logistic = (curves[name][1] for name in _ERRORS)
    said = f"from {test[0] - train[0]:.3f} at {sizes[0]} to {test[-1] - train[-1]:.3f}"
    shrinks = bool(abs(test[-1] - train[-1]) < abs(test[0] - train[0]))
    report.claim("Fig. 9a", "training and test error meet as images grow in number", said, shrinks)
    said = f"{logistic[-1]:.3f} against {test[-1]:.3f}"
    report.claim(
        "Fig. 10",
        "logistic PCA, with 8 numbers an image instead of 8 bits, restores better",
        said,
        bool(logistic[-1] < test[-1]),
    )


_ERRORS = ("noisy-or, training", "noisy-or, test", "logistic PCA, test")


def _errors(size: int, trial: int) -> dict[str, float]:
    train, test = _images(size, trial), _images(1000, 20_000 + trial)
    model = _fit(train, N_PATTERNS, trial)
    logistic = fitted("LPCA", train.table, N_PATTERNS, seed=trial, rough=True)
    values = (
        model.coding_error(train.table),
        model.coding_error(test.table),
        reconstruction_error(test.table, logistic.reconstruct(test.table)),
    )
    return dict(zip(_ERRORS, values, strict=True))
