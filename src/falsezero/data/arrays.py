"""The type of dense tables for annotations, and conversion from sparse ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

__all__ = ["Matrix", "as_dense"]

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.floating[Any]]]
"""Two dimensions of real numbers, in the precision of the table."""


def as_dense(array: Any) -> np.ndarray:
    """An array, whether it was sparse or not."""
    return np.asarray(array.toarray() if sparse.issparse(array) else array)
