"""What is asked of repeated looks before they are used: one sentence for every mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import DataError, suggest

__all__ = [
    "counted",
    "next_look_variables",
    "observers_of",
    "positions",
    "recorded",
    "row_variable",
    "smallest",
    "variable",
]

DIMENSIONS = ("rows", "looks", "columns")


def counted(values: Any, tries: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ones and tries as the smallest whole numbers that hold them."""
    try:
        x = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError("Looks need numbers in an array of rows x looks x columns.") from None
    if x.ndim != 3:
        raise DataError(
            f"Looks have three dimensions (rows, looks, columns), but the array has shape "
            f"{x.shape}; use Looks.from_counts for two tables."
        )
    if 0 in x.shape:
        axis = DIMENSIONS[x.shape.index(0)]
        raise DataError(f"The array of looks has no {axis}, so there is nothing to learn from.")
    n = np.where(np.isnan(x), 0.0, 1.0) if tries is None else np.asarray(tries, dtype=float)
    if n.shape != x.shape:
        raise DataError(f"tries= has shape {n.shape}, but the looks have shape {x.shape}.")
    n = np.nan_to_num(n)
    x = np.where(n == 0, 0.0, x)
    for what, array in (("tries", n), ("values", x)):
        strange = _are_strange(array)
        if strange.any():
            at = tuple(np.argwhere(strange)[0])
            raise DataError(_strange(what, array[at], at))
    if (x > n).any():
        at = tuple(np.argwhere(x > n)[0])
        raise DataError(_too_many(x[at], n[at], at, tries is None))
    kind = smallest(n)
    return x.astype(kind), n.astype(kind)


def recorded(values: NDArray[np.float64], at: NDArray[Any]) -> None:
    """Refuse values of single looks that are neither 0 nor 1; NaN is no look."""
    known = np.where(np.isnan(values), 0.0, values)
    strange, many = _are_strange(known), known > 1
    if strange.any():
        first = int(np.argmax(strange))
        raise DataError(_strange("values", known[first], tuple(at[first])))
    if many.any():
        first = int(np.argmax(many))
        raise DataError(_too_many(known[first], 1, tuple(at[first]), True))


def _are_strange(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(~(np.isfinite(array) & (array >= 0) & (array == np.floor(array))))


def _strange(what: str, value: float, at: tuple[Any, ...]) -> str:
    row, look, column = at
    return (
        f"The look {look} at row {row}, column {column} holds {value:g}; {what} are whole numbers "
        "from 0 up, NaN where there was no look."
    )


def _too_many(x: float, n: float, at: tuple[Any, ...], single: bool) -> str:
    row, look, column = at
    found = f"The look {look} at row {row}, column {column}"
    if single:
        return (
            f"{found} holds {x:g}, but a look records 0 or 1; pass binarize=0 "
            "to make values above it ones, or tries= where entries sum up several looks."
        )
    return f"{found} has {x:g} ones of {n:g} looks."


def positions(
    found: Any, took_place: Any, n_columns: int, missed: Any
) -> tuple[NDArray[Any], NDArray[np.bool_], int, NDArray[Any]]:
    """Finds, looks and uncovered cells as whole arrays; finds lie where somebody looked."""
    taken = np.asarray(took_place)
    if taken.ndim != 2 or taken.dtype != bool or 0 in taken.shape or n_columns < 1:
        raise DataError(
            f"took_place= needs True or False for every row and look, and n_columns= at least 1, "
            f"but they are of shape {taken.shape}, type {taken.dtype} and {n_columns}."
        )
    shape = (*taken.shape, int(n_columns))
    ones, gaps = (_cells(name, at, shape) for name, at in (("found", found), ("missed", missed)))
    for name, cells in (("found", ones), ("missed", gaps)):
        without = ~taken[cells[:, 0], cells[:, 1]]
        if without.any():
            row, look, column = cells[np.argmax(without)].tolist()
            raise DataError(
                f"{name}= lists column {column} at look {look} of row {row}, but took_place= says "
                "that there was no such look."
            )
    both = np.isin(np.ravel_multi_index(ones.T, shape), np.ravel_multi_index(gaps.T, shape))
    if both.any():
        row, look, column = ones[np.argmax(both)].tolist()
        raise DataError(
            f"found= and missed= both list column {column} at look {look} of row {row}; a look "
            "that found something covered it."
        )
    return ones, taken, shape[2], gaps


def _cells(name: str, at: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Positions of rows, looks and columns that exist."""
    cells = np.asarray(at)
    if cells.size == 0:
        return np.zeros((0, 3), dtype=np.int64)
    if cells.ndim != 2 or cells.shape[1] != 3 or cells.dtype.kind not in "iu":
        raise DataError(
            f"{name}= needs whole numbers in three columns (row, look, column), but has shape "
            f"{cells.shape} and type {cells.dtype}."
        )
    beyond = ((cells < 0) | (cells >= np.array(shape))).any(axis=1)
    if beyond.any():
        place = tuple(cells[np.argmax(beyond)].tolist())
        raise DataError(f"{name}= lists the cell {place}, which is not in looks of shape {shape}.")
    return cells.astype(np.int64)


def smallest(array: NDArray[Any]) -> Any:
    """The narrowest type of whole numbers that holds an array."""
    return np.min_scalar_type(int(array.max(initial=0)))


def observers_of(observers: Any, slots: tuple[int, int]) -> NDArray[Any]:
    """One observer per row and look."""
    array = np.asarray(observers)
    if array.dtype.kind not in "iuU":
        array = array.astype(str)
    return _over_slots("observers=", array, slots)


def variable(
    name: str, array: Any, slots: tuple[int, int], took_place: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """One number per row and look; looks that took place must have one."""
    try:
        values = _over_slots(f"The variable {name!r}", np.asarray(array, dtype=float), slots)
    except (TypeError, ValueError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError(f"The variable {name!r} of the looks needs numbers.") from None
    unknown = took_place & ~np.isfinite(values)
    if unknown.any():
        row, look = np.argwhere(unknown)[0]
        raise DataError(
            f"The variable {name!r} is missing for look {look} of row {row}, which took place; "
            "give it a number or leave the look out."
        )
    return np.where(took_place, values, 0.0)


def row_variable(name: str, array: Any, n_rows: int) -> NDArray[np.float64]:
    """One number per row."""
    values = np.asarray(array, dtype=float)
    if values.shape != (n_rows,) or not np.isfinite(values).all():
        raise DataError(
            f"The row variable {name!r} needs {n_rows} numbers, one per row and none missing, but "
            f"has shape {values.shape}."
        )
    return values


def next_look_variables(
    next_look: Mapping[str, Any] | None, known: Sequence[str], n_rows: int
) -> dict[str, NDArray[np.float64]]:
    """Variables of the next look at each row, from one number or one per row; NaN for unknown.

    >>> next_look_variables({"date": 68}, ["date"], 3)
    {'date': array([68., 68., 68.])}
    """
    stated = dict(next_look or {})
    for name in stated:
        if not known:
            raise DataError(
                f"next_look= states {name!r}, but the looks have no variables; give them with "
                "Looks(..., variables=...)."
            )
        if name not in known:
            advice = suggest(name, known, "their variables")
            raise DataError(
                f"next_look= states {name!r}, but the looks have no such variable; {advice}"
            )
    return {name: _next_values(name, values, n_rows) for name, values in stated.items()}


def _next_values(name: str, values: Any, n_rows: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"next_look= needs numbers for {name!r}, but has {values!r}.") from None
    if array.shape not in ((), (n_rows,)) or np.isinf(array).any():
        raise DataError(
            f"next_look= needs one number for {name!r} or one per row ({n_rows}), NaN where it is "
            f"not known, but has shape {array.shape}."
        )
    return np.broadcast_to(array, (n_rows,))


def _over_slots(what: str, array: NDArray[Any], slots: tuple[int, int]) -> NDArray[Any]:
    if array.shape not in (slots, slots[1:]):
        raise DataError(
            f"{what} has shape {array.shape}; give one entry per row and look {slots}, or one per "
            f"look {slots[1:]}."
        )
    return np.array(np.broadcast_to(array, slots))
