"""Repeated looks as the arrays of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import FileReadError
from falsezero.data.look_checks import DIMENSIONS
from falsezero.data.looks import Looks

__all__ = ["are_equal", "arrays_of", "is_looks_file", "looks_of"]

_WHOLE, _LISTED = ("ones", "tries"), ("found", "took_place", "missed")


def arrays_of(looks: Looks) -> dict[str, NDArray[Any]]:
    """All that looks hold but their name."""
    arrays = looks.store.arrays()
    arrays |= {"rows": looks.rows, "looks": looks.looks, "columns": looks.columns}
    if looks.observers is not None:
        arrays["observers"] = looks.observers
    arrays |= {f"look:{name}": array for name, array in looks.variables.items()}
    arrays |= {f"row:{name}": array for name, array in looks.row_variables.items()}
    return arrays


def is_looks_file(names: set[str]) -> bool:
    """Whether a file with arrays of these names holds looks."""
    return "looks" in names and any(names.issuperset(kept) for kept in (_WHOLE, _LISTED))


def looks_of(arrays: Mapping[str, Any], source: str, name: str | None = None) -> Looks:
    """Make looks of the arrays of a file that `Looks.save` wrote."""
    cells = _LISTED if "took_place" in arrays else _WHOLE
    missing = [key for key in (*cells, *DIMENSIONS) if key not in arrays]
    if missing:
        raise FileReadError(f"{source} has no array {missing[0]!r}, so it holds no looks.")
    named: dict[str, Any] = {key: arrays[key] for key in DIMENSIONS}
    named |= {"observers": arrays.get("observers"), "name": name}
    named |= {"variables": _prefixed(arrays, "look:"), "row_variables": _prefixed(arrays, "row:")}
    if cells is _WHOLE:
        return Looks(arrays["ones"], arrays["tries"], **named)
    found, took_place, missed = (arrays[key] for key in cells)
    n_columns = np.size(arrays["columns"])
    return Looks.from_finds(found, took_place, n_columns, missed=missed, **named)


def _prefixed(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def are_equal(one: Looks, other: Looks) -> bool:
    """Whether looks, labels, observers and variables are the same, however they are kept."""
    if one.shape != other.shape:
        return False
    if type(one.store) is not type(other.store):
        stores = one.store.listed(), other.store.listed()
        if stores[0] is None or stores[1] is None:
            return False
        one, other = one.with_store(stores[0]), other.with_store(stores[1])
    mine, yours = arrays_of(one), arrays_of(other)
    return mine.keys() == yours.keys() and all(
        np.array_equal(mine[key], yours[key], equal_nan=mine[key].dtype.kind == "f") for key in mine
    )
