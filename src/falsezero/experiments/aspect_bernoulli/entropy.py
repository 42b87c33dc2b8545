"""Aspect Bernoulli paper, sections 2.1 and 2.3: its iterations and the entropies they lower."""

from __future__ import annotations

import numpy as np

from falsezero.datasets import Dataset
from falsezero.experiments._report import Report
from falsezero.experiments.aspect_bernoulli.iteration import (
    expected_log_likelihood,
    iterations,
    log_likelihood,
    uniform_start,
)
from falsezero.plot import CurvesDisplay


def steps(report: Report, data: Dataset) -> None:
    """Both iterations from the same starts, their likelihoods and eq. 20."""
    report.section("Equations 12-20: the paper's iterations, and the entropies")
    x = data.table.to_numpy()
    n, starts = (60, 3) if report.quick else (200, 15)
    likelihood = {True: np.zeros((starts, n + 1)), False: np.zeros((starts, n + 1))}
    entropy = np.zeros((starts, n + 1))
    for seed in range(starts):
        start = uniform_start(x.shape, 4, np.random.default_rng(seed))
        for first, curves in likelihood.items():
            for i, pair in enumerate(iterations(x, start, n, weights_first=first)):
                curves[seed, i] = log_likelihood(x, pair)
                if not first:
                    entropy[seed, i] = expected_log_likelihood(x, pair)
    _draw(report, likelihood, entropy, n)
    _judge(report, likelihood, entropy)


def _draw(report: Report, likelihood: dict[bool, np.ndarray], entropy: np.ndarray, n: int) -> None:
    at = np.arange(2, n + 1, n // 20)
    likelihoods = {
        "weights first (12-17)": (at, likelihood[True].mean(axis=0)[at]),
        "both at once (4-6)": (at, likelihood[False].mean(axis=0)[at]),
    }
    report.figure(
        CurvesDisplay(likelihoods, "iteration", "log likelihood, nats").plot(),
        "Equations 12-17: mean log likelihood of the paper's two iterations from the same uniform "
        "starts; fossils, four aspects.",
        "Equations 12-17",
    )
    report.figure(
        CurvesDisplay(
            {"(20)": (at, entropy.mean(axis=0)[at])}, "iteration", "minus the entropies, nats"
        ).plot(),
        "Equations 18-20: minus the weighted sum of entropies (20) over the iteration of eqs. 4-6.",
        "Equations 18-20",
    )


def _judge(report: Report, likelihood: dict[bool, np.ndarray], entropy: np.ndarray) -> None:
    falls = {first: float(np.minimum(np.diff(c), 0).min()) for first, c in likelihood.items()}
    report.claim(
        "Equations 12-17",
        "the iteration converges, the likelihood rises at every step",
        f"largest fall {abs(falls[True]):.1g} nats; with both factors renewed together "
        f"{abs(falls[False]):.1g}",
        falls[True] > -1e-6,
    )
    target = likelihood[False][:, -1]
    reached = [int(np.argmax(c >= t)) for c, t in zip(likelihood[True], target, strict=True)]
    report.text(
        f"Where eqs. 4-6 are after {likelihood[False].shape[1] - 1} iterations, eqs. 12-17 are "
        f"after {sorted(reached)} (0: not at all)."
    )
    change = np.diff(entropy[:, 1:])
    report.claim(
        "Equations 18-20",
        "each E-step necessarily increases (20), minus the weighted entropies",
        f"it rises in {(change > 0).mean():.1%} of the steps; largest fall "
        f"{-min(change.min(), 0):.2g} nats",
        bool((change >= -1e-6).all()),
    )
    report.claim(
        "Equations 18-20",
        "maximising the likelihood lowers the weighted sum of entropies",
        f"from {-entropy[:, 1].mean():.0f} to {-entropy[:, -1].mean():.0f} nats",
        bool((entropy[:, -1] > entropy[:, 1]).all()),
    )
