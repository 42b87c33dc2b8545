"""Check the index arrays of sparse matrices, which compiled code trusts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import DataError

__all__ = ["check_indices"]


def check_indices(matrix: Any) -> Any:
    """The same sparse matrix, after checking that every index lies inside it.

    scipy checks little of what it is handed, and compiled code would read and write outside its
    arrays. The result shares only the memory of the matrix: whether it is sorted is determined
    again.

    >>> import scipy.sparse as sp
    >>> check_indices(sp.csr_array((np.ones(1), np.array([7]), np.array([0, 1])), shape=(1, 3)))
    Traceback (most recent call last):
    ...
    falsezero.data.errors.DataError: The sparse matrix is damaged: its indices reach to 7, but it \
has 3 columns.
    """
    if matrix.ndim != 2:
        return matrix
    if matrix.format in ("csr", "csc", "bsr"):
        return _compressed(matrix)
    if matrix.format == "coo":
        return _coordinates(matrix)
    # Other formats keep Python lists or whole diagonals, and what they become can be checked.
    return _compressed(matrix.tocsr())


def _compressed(matrix: Any) -> Any:
    blocks = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    shape = [size // block for size, block in zip(matrix.shape, blocks, strict=True)]
    major, minor = shape[::-1] if matrix.format == "csc" else shape
    pointer, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    if (
        len(pointer) != major + 1
        or pointer[0] != 0
        or np.any(np.diff(pointer) < 0)
        or not pointer[-1] <= len(indices) <= len(matrix.data)
    ):
        raise DataError(
            "The sparse matrix is damaged: its index pointers do not rise from 0 to the number of "
            "its entries."
        )
    used = indices[: int(pointer[-1])]
    _check_range(used, minor, "rows" if matrix.format == "csc" else "columns")
    parts = matrix.data[: len(used)], used, pointer
    return type(matrix)(parts, shape=matrix.shape, copy=False)


def _coordinates(matrix: Any) -> Any:
    for axis, positions in enumerate(matrix.coords):
        if len(positions) != len(matrix.data):
            raise DataError(
                f"The sparse matrix is damaged: it has {len(matrix.data)} entries at "
                f"{len(positions)} positions."
            )
        _check_range(positions, matrix.shape[axis], "columns" if axis else "rows")
    return type(matrix)((matrix.data, matrix.coords), shape=matrix.shape, copy=False)


def _check_range(indices: NDArray[Any], size: int, what: str) -> None:
    if not len(indices):
        return
    for extreme in (int(indices.min()), int(indices.max())):
        if not 0 <= extreme < size:
            raise DataError(
                f"The sparse matrix is damaged: its indices reach to {extreme}, but it has {size} "
                f"{what}."
            )
