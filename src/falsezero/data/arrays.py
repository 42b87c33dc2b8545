"""Types of arrays, for annotations that say more than ``np.ndarray``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

__all__ = ["Matrix"]

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.floating[Any]]]
"""Two dimensions of real numbers, in the precision of the table."""
