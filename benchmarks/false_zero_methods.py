"""Who ranks the zeros: our default, and rivals with one fixed setting each.

A method takes a table (a dense array, NaN where nothing was observed, or a sparse array) and
returns a score for every cell, larger for zeros that are more likely false. Settings are the same
for all tables; where a library cannot leave cells out, the docstring says what replaces them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

Method = Callable[[Any], np.ndarray]


def audit(X: Any) -> np.ndarray:
    """`falsezero.audit` as it comes."""
    import falsezero as fz

    expected = fz.audit(X, random_state=0).expected
    return np.concatenate([part for _, part in expected.blocks()])


def _scorer(name: str) -> Method:
    def score(X: Any) -> np.ndarray:
        import falsezero as fz

        return np.asarray(getattr(fz, name)().fit(X).score_cells(X))

    score.__doc__ = f"`falsezero.{name}` with its defaults."
    return score


def popularity(X: Any) -> np.ndarray:
    """The rate of each column."""
    filled, seen = _filled(X, 0.0)
    rates = np.asarray(filled.sum(axis=0)).ravel() / np.maximum(seen, 1)
    return np.broadcast_to(rates, X.shape)


def implicit_als(X: Any) -> np.ndarray:
    """Weighted least squares on implicit feedback; cells not observed are zeros."""
    from implicit.als import AlternatingLeastSquares

    options = {"regularization": 10.0, "alpha": 5.0, "iterations": 20}
    return _implicit(AlternatingLeastSquares, X, **options)


def implicit_bpr(X: Any) -> np.ndarray:
    """Bayesian personalised ranking; cells not observed are zeros."""
    from implicit.bpr import BayesianPersonalizedRanking

    options = {"learning_rate": 0.05, "regularization": 0.1, "iterations": 100}
    return _implicit(BayesianPersonalizedRanking, X, **options)


def implicit_logistic(X: Any) -> np.ndarray:
    """Logistic matrix factorization; cells not observed are zeros."""
    from implicit.lmf import LogisticMatrixFactorization

    options = {"learning_rate": 1.0, "regularization": 2.0, "iterations": 30}
    return _implicit(LogisticMatrixFactorization, X, **options)


def nmf(X: Any) -> np.ndarray:
    """scikit-learn's NMF, least squares; the column's rate where a cell was not observed."""
    from sklearn.decomposition import NMF

    filled, _ = _filled(X)
    model = NMF(_n_factors(X, 16, share=8), init="nndsvda", max_iter=200, random_state=0)
    return model.fit_transform(filled) @ model.components_


def nbmf_mm(X: Any) -> np.ndarray:
    """nbmf-mm with its own priors; it leaves cells out by a mask."""
    from nbmf_mm import NBMF

    dense = X.toarray() if sparse.issparse(X) else X
    seen = ~np.isnan(dense)
    model = NBMF(_n_factors(X, 16), max_iter=300, random_state=0)
    # A mask is several times slower, so it is given only where there is something to leave out.
    options = {} if seen.all() else {"mask": seen.astype(float)}
    weights = model.fit_transform(np.where(seen, dense, 0.0), **options)
    return model.inverse_transform(weights)


def column_logistic(X: Any) -> np.ndarray:
    """Ridge-penalised logistic regression of each column on the others, three folds of rows.

    The optimum of scikit-learn's LogisticRegression(C=1.0) column by column, all columns at once.
    The column's rate where a predictor was not observed; rows where the target was not observed are
    left out.
    """
    filled, _ = _filled(X)
    seen = None if sparse.issparse(X) or not np.isnan(X).any() else ~np.isnan(X)
    fold = np.random.default_rng(0).permutation(X.shape[0]) % 3
    scores = np.empty(X.shape)
    for k in range(3):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        weights, bias = logistic_columns(filled[train], None if seen is None else seen[train])
        scores[test] = filled[test] @ weights + bias
    return scores


def logistic_columns(
    X: Any, seen: np.ndarray | None = None, ridge: float = 1.0, n_steps: int = 150
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (zero diagonal) and intercepts of all columns' regressions on the others.

    Accelerated steps under the bound 1/4 on the curvature of the logistic loss: one factorisation
    serves all columns, and the constraint that no column predicts itself is met exactly in every
    step, as in EASE.
    """
    n_rows, n_columns = X.shape
    design = sparse.hstack([X, np.ones((n_rows, 1))], format="csr") if sparse.issparse(X) else (
        np.hstack([X, np.ones((n_rows, 1))])
    )  # fmt: skip
    dense = X.toarray() if sparse.issparse(X) else X
    gram = design.T @ design
    gram = (gram.toarray() if sparse.issparse(gram) else gram) / 4
    penalty = np.append(np.full(n_columns, ridge), 1e-6)
    inverse = linalg.inv(gram + np.diag(penalty))
    free = np.diag(inverse)[:n_columns]
    B = ahead = np.zeros((n_columns + 1, n_columns))
    pace = 1.0
    for _ in range(n_steps):
        error = expit(design @ ahead) - dense
        slope = design.T @ (error if seen is None else error * seen) + penalty[:, None] * ahead
        step = inverse @ slope
        step -= inverse[:, :n_columns] * (np.diag(step) / free)
        new = ahead - step
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, B, pace = new + (pace - 1) / faster * (new - B), new, faster
    return B[:-1], B[-1]


def _implicit(kind: Any, X: Any, **options: Any) -> np.ndarray:
    known = sparse.csr_matrix(_filled(X, 0.0)[0], dtype=np.float32)
    model = kind(factors=_n_factors(X, 32), num_threads=1, random_state=0, **options)
    model.fit(known, show_progress=False)
    return np.asarray(model.user_factors) @ np.asarray(model.item_factors).T


def _n_factors(X: Any, most: int, share: int = 4) -> int:
    """A share of the shorter side, within limits: small tables cannot carry many factors."""
    return int(np.clip(min(X.shape) // share, 2, most))


def _filled(X: Any, value: float | None = None) -> tuple[Any, np.ndarray]:
    """The table with a value, or the column's rate, where nothing was observed; observed counts."""
    if sparse.issparse(X):
        return X, np.full(X.shape[1], X.shape[0])
    seen = (~np.isnan(X)).sum(axis=0)
    rates = np.nansum(X, axis=0) / np.maximum(seen, 1) if value is None else value
    return np.where(np.isnan(X), rates, X), seen


METHODS: dict[str, Method] = {
    "audit": audit,
    "EASE": _scorer("EASE"),
    "implicit ALS": implicit_als,
    "implicit BPR": implicit_bpr,
    "implicit logistic": implicit_logistic,
    "row neighbours": _scorer("RowNeighbours"),
    "column neighbours": _scorer("ColumnNeighbours"),
    "Beals": _scorer("Beals"),
    "dark diversity": _scorer("DarkDiversity"),
    "column logistic": column_logistic,
    "NMF": nmf,
    "nbmf-mm": nbmf_mm,
    "margins": _scorer("Margins"),
    "popularity": popularity,
}
OURS = "audit"
IN_HOUSE = ("EASE", "row neighbours", "column neighbours", "Beals", "dark diversity", "margins")
"""Rivals that need no other library."""

DENSE_ONLY = ("nbmf-mm",)
"""Left out on large sparse tables, which it makes dense: minutes and gigabytes a fit."""


def find(name: str) -> Method:
    """A method of the list, or any function given as module:function."""
    if name in METHODS:
        return METHODS[name]
    module, _, function = name.partition(":")
    if not function:
        raise SystemExit(
            f"There is no method {name!r}; give module:function or one of {', '.join(METHODS)}."
        )
    return getattr(import_module(module), function)
