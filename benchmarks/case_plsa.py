"""PLSA against scikit-learn's NMF with the Kullback-Leibler loss: seconds to its likelihood."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF

from benchmarks.harness import row, timed
from falsezero import PLSA
from falsezero.datasets import load_associated_press


def run(quick: bool) -> list[dict[str, Any]]:
    """Associated Press, 2246 x 10473, 50 components."""
    PLSA(2, max_iter=5).fit(np.eye(20))
    if quick:
        counts = np.random.default_rng(0).poisson(0.3, (200, 100)).astype(float)
        return [_case("drawn 200 x 100", sparse.csr_array(counts), 5, 20)]
    X = load_associated_press().table.values
    return [_case("associated press", X, 50, n_iter) for n_iter in (20, 100)]


def _case(what: str, X: Any, k: int, n_iter: int) -> dict[str, Any]:
    options = {"beta_loss": "kullback-leibler", "solver": "mu", "init": "random"}
    model = NMF(k, max_iter=n_iter, tol=0, random_state=0, **options)
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
            k, random_state=0, callback=lambda line: line["objective"] >= target + shift
        ).fit(X)
        seconds = time.perf_counter() - began
    tokens = X.sum()
    note = f"log likelihood a token {ours.log_likelihood_ / tokens:.4f} and {target / tokens:.4f}"
    if ours.log_likelihood_ < target - 1e-6 * abs(target):
        seconds = float("inf")
    return row(
        f"PLSA {what}, K={k}, {n_iter} iterations of the rival", "PLSA", "scikit-learn NMF",
        "seconds to the rival's likelihood", seconds, rival, note, threads=1,
        headline=f"`PLSA`, {what}, K={k}: to the same likelihood",
    )  # fmt: skip


def _log_likelihood(X: Any, weights: np.ndarray, components: np.ndarray) -> float:
    entries = X.tocoo()
    p = np.einsum("jk,jk->j", weights[entries.row], components.T[entries.col])
    mass = (weights * components.sum(axis=1)).sum(axis=1)
    return float((entries.data * np.log(p / mass[entries.row])).sum())
