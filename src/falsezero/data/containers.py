"""Convert containers of other libraries so that scikit-learn does not lose missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.errors import DataError
from falsezero.data.indices import check_indices
from falsezero.data.objects import are_baskets, from_baskets, from_object
from falsezero.data.table import Table
from falsezero.data.values import filled

__all__ = ["unwrapped"]


def unwrapped(X: Any) -> Any:
    """Convert a table that scikit-learn would misread; return anything else as it is.

    Masked cells become NaN. Sets and lists of labels, AnnData, graphs, xarray arrays, frames of
    polars and pyarrow, and frames of pandas with text or sparse columns become a `Table`, as
    `as_table` reads them; a first column counts as labels only where it holds text. Indices of
    sparse matrices are checked.

    >>> unwrapped(np.ma.array([[1, 0]], mask=[[False, True]]))
    array([[ 1., nan]])
    """
    if isinstance(X, Table):
        return X
    if sp.issparse(X):
        return check_indices(X)
    if isinstance(X, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack([np.ma.asarray(row) for row in X])
    if isinstance(X, np.ma.MaskedArray):
        return filled(X)
    if isinstance(X, (list, tuple, dict)) and are_baskets(X):
        raw = from_baskets(X)
        return Table(raw.values, raw.rows, raw.columns)
    if isinstance(X, (np.ndarray, list, tuple)):
        return X
    return _labelled(X)


def _labelled(X: Any) -> Any:
    from falsezero.data.frames import as_frame, is_text, stored_index, wide_frame

    raw = from_object(X, rows=None, columns=None)
    if raw is None:
        if _is_plain_pandas(X):
            return X
        frame = as_frame(X)
        if frame is None:
            return X
        has_labels = len(frame.columns) > 0 and is_text(frame[frame.columns[0]])
        has_labels = has_labels or stored_index(X) is not None
        try:
            raw = wide_frame(frame, None if has_labels else False)
        except DataError as problem:
            sentence = str(problem).rstrip(".")
            raise DataError(f"{sentence} (arguments of falsezero.as_table).") from None
    return Table(raw.values, raw.rows, raw.columns)


def _is_plain_pandas(X: Any) -> bool:
    """Whether this is a pandas frame of numbers, which scikit-learn reads as we do."""
    dtypes = getattr(X, "dtypes", None)
    if not hasattr(X, "iloc") or dtypes is None or np.ndim(dtypes) != 1:
        return False
    return all(_is_number(dtype) for dtype in dtypes)


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf" and not hasattr(dtype, "fill_value")
