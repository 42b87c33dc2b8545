"""Labels of several levels, as a MultiIndex of pandas has them: region and plot, family and genus.

A label of a `Table` is one text ("Alps / 7"), so that it can be printed, saved and looked up. The
levels stay beside it, one array per level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import DataError, quote, suggest

if TYPE_CHECKING:
    from falsezero.data.tidy import Tidy

__all__ = ["Levels", "join_levels", "levels_of", "mask_of", "multi_index", "own_name", "picked"]

Levels = dict[str, NDArray[Any]]


def levels_of(labels: Any) -> Levels | None:
    """The levels of a MultiIndex by name; None for labels of one level.

    >>> import pandas as pd
    >>> index = pd.MultiIndex.from_tuples([("Alps", 7), ("Jura", 2)], names=["region", None])
    >>> levels_of(index)
    {'region': array(['Alps', 'Jura'], dtype=object), 'level 2': array([7, 2])}
    """
    if getattr(labels, "nlevels", 1) < 2:
        return None
    values = [np.asarray(labels.get_level_values(at)) for at in range(labels.nlevels)]
    names = [f"level {at + 1}" if name is None else str(name) for at, name in _names(labels)]
    return dict(zip(names, values, strict=True))


def _names(labels: Any) -> Iterable[tuple[int, Any]]:
    """Positions and names of levels; a name used twice does not count."""
    names = list(labels.names)
    return enumerate(name if names.count(name) == 1 else None for name in names)


def picked(levels: Levels | None, positions: Any) -> Levels | None:
    """The levels of some labels, by position."""
    return levels and {name: values[positions] for name, values in levels.items()}


def mask_of(wanted: Any, levels: Levels | None, axis: str) -> Any:
    """Which labels have these values in their levels; what is no mapping stays as it is.

    >>> mask_of({"region": "Alps"}, {"region": np.array(["Alps", "Jura"])}, "row")
    array([ True, False])
    """
    if not isinstance(wanted, Mapping):
        return wanted
    if levels is None:
        raise DataError(f"The {axis} labels have one level; pass a list of labels, not a mapping.")
    chosen = np.ones(len(next(iter(levels.values()))), dtype=bool)
    for name, values in wanted.items():
        if name not in levels:
            remedy = suggest(name, levels, "its levels")
            raise DataError(f"The {axis} labels have no level {quote(name)}; {remedy}")
        chosen &= np.isin(levels[name].astype(str), np.atleast_1d(values).astype(str))
    return chosen


def multi_index(levels: Levels | None, labels: NDArray[Any]) -> Any:
    """A MultiIndex of pandas, or the labels where they have one level."""
    if levels is None:
        return labels
    import pandas as pd

    return pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))


def own_name(level: str, axis: str, taken: Iterable[str]) -> str:
    """The name of a level beside other names.

    >>> own_name("region", "row", ["row", "column"]), own_name("row", "row", ["row", "column"])
    ('region', 'row row')
    """
    return f"{axis} {level}" if level in taken else level


def join_levels(found: Tidy, axis: str, levels: Levels | None, lookup: dict[Any, int]) -> Tidy:
    """A list of findings with one more column per level, after the column of labels."""
    from falsezero.data.tidy import Tidy

    if levels is None or axis not in found.columns:
        return found
    at = np.array([lookup[label] for label in found[axis].tolist()], dtype=np.intp)
    columns: dict[str, Any] = {}
    for name in found.columns:
        columns[name] = found[name]
        if name == axis:
            columns |= {
                own_name(level, axis, found.columns): values[at] for level, values in levels.items()
            }
    return Tidy(columns)
