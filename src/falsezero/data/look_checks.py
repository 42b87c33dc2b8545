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
        strange = ~(np.isfinite(array) & (array >= 0) & (array == np.floor(array)))
        if strange.any():
            raise DataError(_strange(what, array, strange))
    if (x > n).any():
        raise DataError(_too_many(x, n, tries is None))
    kind = smallest(n)
    return x.astype(kind), n.astype(kind)


def _strange(what: str, array: NDArray[Any], strange: NDArray[np.bool_]) -> str:
    row, look, column = np.argwhere(strange)[0]
    value = array[row, look, column]
    return (
        f"The look {look} at row {row}, column {column} holds {value:g}; {what} are whole numbers "
        "from 0 up, NaN where there was no look."
    )


def _too_many(x: NDArray[Any], n: NDArray[Any], single: bool) -> str:
    row, look, column = np.argwhere(x > n)[0]
    found = f"The look {look} at row {row}, column {column}"
    if single:
        return (
            f"{found} holds {x[row, look, column]:g}, but a look records 0 or 1; pass binarize=0 "
            "to make values above it ones, or tries= where entries sum up several looks."
        )
    return f"{found} has {x[row, look, column]:g} ones of {n[row, look, column]:g} looks."


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
