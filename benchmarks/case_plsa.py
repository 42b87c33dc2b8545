"""PLSA against scikit-learn's NMF with the Kullback-Leibler loss: seconds to its likelihood."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import NMF

from benchmarks.harness import row, timed
from falsezero import PLSA
from falsezero.datasets import load_associated_press

COMPONENTS = 50


def run(quick: bool) -> list[dict[str, Any]]:
    """Associated Press, 2246 x 10473, 50 components."""
    X = load_associated_press().table.values
    PLSA(2, max_iter=5).fit(X[:50])
    return [_case(X, n_iter) for n_iter in ((20,) if quick else (20, 100))]


def _case(X: Any, n_iter: int) -> dict[str, Any]:
    options = {"beta_loss": "kullback-leibler", "solver": "mu", "init": "random"}
    model = NMF(COMPONENTS, max_iter=n_iter, tol=0, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rival, weights = timed(lambda: model.fit_transform(X), 1)
        target = _log_likelihood(X, weights, model.components_)
        # Our objective is the Poisson likelihood, which differs by what the row totals say.
        totals = np.asarray(X.sum(axis=1)).ravel()
        totals = totals[totals > 0]
        shift = float((totals * np.log(totals) - totals).sum())
        began = time.perf_counter()
        ours = PLSA(
            COMPONENTS, random_state=0, callback=lambda line: line["objective"] >= target + shift
        ).fit(X)
        seconds = time.perf_counter() - began
    tokens = X.sum()
    found = f"{ours.log_likelihood_ / tokens:.4f} and {target / tokens:.4f}"
    note = f"log likelihood a token {found}; {n_iter} iterations of the rival"
    if ours.log_likelihood_ < target - 1e-6 * abs(target):
        seconds = float("nan")
    quantity = "seconds to the rival's likelihood"
    return row("associated_press", "PLSA", "scikit-learn NMF", quantity, seconds, rival, note)


def _log_likelihood(X: Any, weights: np.ndarray, components: np.ndarray) -> float:
    entries = X.tocoo()
    p = np.einsum("jk,jk->j", weights[entries.row], components.T[entries.col])
    mass = (weights * components.sum(axis=1)).sum(axis=1)
    return float((entries.data * np.log(p / mass[entries.row])).sum())
