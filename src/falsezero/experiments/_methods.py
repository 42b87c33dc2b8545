"""The methods of the papers by their short names, and what each makes of a table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from falsezero.data.table import Table
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture
from falsezero.models.baselines.bernoulli_nmf import BernoulliNMF
from falsezero.models.baselines.logistic_pca import LogisticPCA
from falsezero.models.baselines.plsa import PLSA
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.models.convex.binary_ica import BinaryICA

__all__ = ["AS_IN_THE_PAPER", "fitted", "method", "restored", "without_emptiest"]

AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {"LPCA": {"bias": False}}
"""Options with which methods are those of Bingham et al.: their logistic PCA is eq. 24."""


def method(name: str, n_components: int, *, seed: int = 0, rough: bool = False, **more: Any) -> Any:
    """A method of the papers, unfitted; `rough` stops it a little earlier."""
    options: dict[str, Any] = {"random_state": seed, "tol": 1e-5 if rough else 1e-6, **more}
    if name == "NMF":
        return NMF(n_components, init="nndsvda", max_iter=400, random_state=seed)
    if name in ("BICA", "bBICA"):
        return BinaryICA(n_components, inference="em" if name == "BICA" else "vb", **options)
    if name == "AB":
        # The paper's method is maximum likelihood.
        options = {"prior": 0, **options}
    known: dict[str, Any] = {
        "AB": AspectBernoulli,
        "MB": BernoulliMixture,
        "LPCA": LogisticPCA,
        "PLSA": PLSA,
        "BNMF": BernoulliNMF,
    }
    return known[name](n_components, **options)


def fitted(name: str, table: Table, n_components: int, **options: Any) -> Any:
    """A method fitted to a table, without a word about iterations that ran out."""
    model = method(name, n_components, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(table.to_numpy() if name == "NMF" else table)


def restored(model: Any, table: Table, keep: Any = None) -> np.ndarray:
    """What a fitted method says of every cell: a probability, or NMF's value cut at 1."""
    if isinstance(model, NMF):
        return np.minimum(model.transform(table.to_numpy()) @ model.components_, 1.0)
    return model.reconstruct(table, keep=keep).to_numpy()


def without_emptiest(model: Any) -> np.ndarray:
    """P(u|k) that removes the one component with the fewest ones: the papers' phantom."""
    keep = np.ones(len(model.components_))
    keep[np.argmin(model.components_.sum(axis=1))] = 0.0
    return keep
