"""AspectBernoulli against scikit-learn's BernoulliRBM: predicting hidden cells of new rows.

Both are fitted to complete rows. In rows that neither has seen half of the cells, at random, are
hidden, and the score is their log likelihood given the rest of their row. A Boltzmann machine is
judged by its exact conditional, a sum over all states of its hidden units, since its own
pseudo-likelihood is another quantity than ours. That sum is why there are 10 units and not 256.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.neural_network import BernoulliRBM
from threadpoolctl import threadpool_limits

from benchmarks.harness import row, timed
from falsezero import AspectBernoulli
from falsezero.datasets import load_mfeat_digits, make_aspect_bernoulli

OURS, RIVAL = "AspectBernoulli", "scikit-learn BernoulliRBM"
LENGTHS = (2, 5, 10, 20, 40, 80, 160)
"""Iterations after which ours is judged, each fit from its start."""
PRIOR = 1.0
RATES, EPOCHS = (0.1, 0.03, 0.01), (10, 50, 200)
"""The rival's settings; the first of each is its default."""


def run(quick: bool) -> list[dict[str, Any]]:
    """A drawn table, and handwritten digits."""
    with threadpool_limits(1, user_api="blas"):
        if quick:
            small = make_aspect_bernoulli(300, 40, 3, random_state=0).table.to_numpy()
            return _case("drawn 300 x 40", small, 3, EPOCHS[:1])
        drawn = make_aspect_bernoulli(2000, 240, 10, random_state=0).table.to_numpy()
        digits = load_mfeat_digits().table.to_numpy()
        return [
            *_case("drawn 2000 x 240", drawn, 10, EPOCHS),
            *_case("digits 2000 x 240", digits, 10, EPOCHS),
        ]


def _case(what: str, X: np.ndarray, k: int, epochs: tuple[int, ...]) -> list[dict[str, Any]]:
    """Seconds to the rival's score with its defaults and with its best settings, and the scores."""
    rng = np.random.default_rng(0)
    X = X[rng.permutation(len(X))]
    train, test = X[len(X) // 5 :], X[: len(X) // 5]
    hidden = rng.random(test.shape) < 0.5

    def score(p: np.ndarray) -> float:
        p = np.clip(p[hidden], 1e-3, 1 - 1e-3)
        return float(np.log(np.where(test[hidden] == 1, p, 1 - p)).mean())

    machines = []
    for rate, n_iter in product(RATES, epochs):
        machine = BernoulliRBM(k, learning_rate=rate, n_iter=n_iter, random_state=0)
        seconds, _ = timed(lambda machine=machine: machine.fit(train), 1)
        machines.append((score(filled_in(machine, test, hidden)), seconds))
    curve = []
    for n_iter in LENGTHS:
        ours = AspectBernoulli(k, prior=PRIOR, max_iter=n_iter, tol=0, random_state=0)
        seconds, _ = timed(lambda ours=ours: ours.fit(train), 3)
        curve.append((score(ours.reconstruct(np.where(hidden, np.nan, test))), seconds))
    tuned = f"the best of {len(machines)} settings"
    return _rows(f"{OURS} {what}, K={k}, new rows", curve, machines[0], max(machines), tuned)


def _rows(
    case: str,
    curve: list[tuple[float, float]],
    default: tuple[float, float],
    best: tuple[float, float],
    tuned: str,
) -> list[dict[str, Any]]:
    lines = []
    for name, (target, theirs) in {"its defaults": default, tuned: best}.items():
        seconds = next((spent for found, spent in curve if found >= target), float("inf"))
        line = row(
            f"{case}, {name}", OURS, RIVAL, "seconds to the rival's held-out score", seconds,
            theirs, f"its score {target:.4f}; ours has prior={PRIOR:g}", threads=1,
            headline=f"`{OURS}`, new rows: to the same score on hidden cells",
        )  # fmt: skip
        lines.append(line)
    line = row(
        case, OURS, RIVAL, "log likelihood a hidden cell", max(curve)[0], best[0],
        f"best of each; the rival's of {tuned.removeprefix('the best of ')}", threads=1,
    )  # fmt: skip
    return [*lines, line]


def filled_in(machine: BernoulliRBM, rows: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Probability of a one in every cell, given the cells of its row that are not hidden.

    With units h and activations a(h) = b + h W, p(h | shown) is proportional to
    exp(c h + sum over shown x a(h) + sum over hidden log(1 + e^a(h))), as hidden cells sum out.
    """
    k = machine.n_components
    states = (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(float)
    active = machine.intercept_visible_ + states @ machine.components_
    log_p = states @ machine.intercept_hidden_ + np.where(hidden, 0.0, rows) @ active.T
    log_p += hidden @ np.logaddexp(0.0, active).T
    return softmax(log_p, axis=1) @ expit(active)
