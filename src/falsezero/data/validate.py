"""Check the input of estimators, once, before anything else uses it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from falsezero.data.containers import unwrapped
from falsezero.data.labels import tidy_labels
from falsezero.data.levels import levels_of
from falsezero.data.shards import Shards
from falsezero.data.table import Table, sorted_out
from falsezero.data.values import binarized, check_dense, is_unfit

_EXPECTED = {
    "binary": ("zeros and ones", "values above binarize= become ones, as in binarize=0.0"),
    "weight": ("numbers from zero up", "leave negative ones out"),
    "count": ("counts (whole numbers from zero up)", "round them, or leave negative ones out"),
    "real": ("finite numbers", "replace infinite values by NaN where nothing was observed"),
}


_LARGEST = 1e100
"""Products of values beyond this leave the range of double precision."""


def check_table(
    estimator: Any,
    X: Any,
    *,
    kind: str = "binary",
    binarize: float | None = None,
    reset: bool = True,
) -> np.ndarray | sparse.csr_array:
    """Check a table for an estimator and return it as floats, NaN where nothing was observed.

    Takes a `Table`, whatever `as_table` and scikit-learn take; sparse input stays sparse. Names of
    features are kept on the estimator on `reset` and compared otherwise.
    """
    if not reset:
        check_is_fitted(estimator)
    if isinstance(X, Shards):
        raise TypeError(
            f"{type(estimator).__name__} needs the whole table in memory, and cannot take {X!r}."
        )
    X = unwrapped(X)
    named = X if isinstance(X, Table) else None
    if named is not None and not reset:
        _keep_names(estimator, named, reset)
    # scikit-learn adds all values up, and infinite ones of both signs would make NumPy warn.
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        if named is not None:
            # A table's names are compared here, which scikit-learn cannot know.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        values = validate_data(
            estimator,
            X if named is None else named.values,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            skip_check_array=False,
        )
    if named is not None and reset:
        _keep_names(estimator, named, reset)
    if sparse.issparse(values):
        values = sorted_out(sparse.csr_array(values))
    return check_values(values, kind, binarize, type(estimator).__name__)


def _keep_names(estimator: Any, table: Table, reset: bool) -> None:
    """Do for a `Table` what scikit-learn does for a data frame's column names."""
    if table.columns.dtype.kind in "iu":
        return
    names = np.asarray(table.columns, dtype=object)
    if reset:
        estimator.feature_names_in_ = names
        return
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and not np.array_equal(known, names):
        strange = [name for name in names if name not in set(known)]
        detail = f"such as {strange[0]!r}" if strange else "the same in another order"
        raise ValueError(
            f"The columns of this table are not those that {type(estimator).__name__} was fitted "
            f"on ({detail}); select them with table.select(columns=model.feature_names_in_)."
        )


def check_values(values: Any, kind: str, binarize: float | None, name: str) -> Any:
    """Binarise if asked, drop stored zeros, and refuse values that the model cannot use."""
    if kind == "binary" and binarize is not None:
        values = binarized(values, binarize)
    data = values.data if sparse.issparse(values) else values
    unfit = is_unfit(data, kind)
    if unfit.any():
        expected, remedy = _EXPECTED[kind]
        # scikit-learn's common tests ask for these words where a value is negative.
        negative = kind in ("count", "weight") and (data < 0).any()
        opening = "Negative values in data: " if negative else ""
        raise ValueError(
            f"{opening}{name} needs {expected}, NaN for cells not observed, but found "
            f"{data[unfit].flat[0]:g}; {remedy}."
        )
    if kind in ("count", "weight") and float(np.nanmax(data, initial=0)) > _LARGEST:
        raise ValueError(
            f"{name} cannot add up and multiply values as large as {np.nanmax(data):g}; divide the "
            "table by a constant."
        )
    return sorted_out(values) if sparse.issparse(values) else values


def check_room(model: Any, X: Any) -> None:
    """Refuse to fill in every cell of a sparse table that is too large for it."""
    if isinstance(X, Table) or sparse.issparse(X):
        name = type(model).__name__
        check_dense(X.shape, f"{name}.reconstruct", "ask for some rows at a time")


def column_names(model: Any) -> np.ndarray:
    """Names of the columns that a model was fitted on; their numbers where they had no names."""
    return np.asarray(getattr(model, "feature_names_in_", np.arange(model.n_features_in_)))


def labels_of(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row and column labels of a table, from itself or from what the estimator was fitted on."""
    X = unwrapped(X)
    if isinstance(X, Table):
        rows, columns = X.rows, X.columns
    else:
        n_rows, n_columns = X.shape if hasattr(X, "shape") else np.shape(X)
        # A list has an `index` too, which is a method.
        index = getattr(X, "index", None)
        rows = np.arange(n_rows) if index is None or callable(index) else _as_array(index)
        if rows.dtype.kind in "mM":
            # As numbers of nanoseconds, dates could not be recognised.
            rows = np.asarray(index, dtype=object)
        given = getattr(X, "columns", None)
        if given is None:
            given = getattr(estimator, "feature_names_in_", np.arange(n_columns))
        columns = _as_array(given)
    if columns.dtype.kind in "iu":
        columns = getattr(estimator, "feature_names_in_", columns)
    return rows, columns


def _as_array(labels: Any) -> np.ndarray:
    """Labels as an array; those of several levels as text, as `Table` writes them."""
    return tidy_labels(labels) if levels_of(labels) else np.asarray(labels)
