"""Repeated looks at the cells of a table: visits, replicates, nights, annotators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data import look_checks, show_looks
from falsezero.data.errors import DataError, FileReadError
from falsezero.data.labels import as_labels, pick
from falsezero.data.look_checks import DIMENSIONS
from falsezero.data.table import Table

__all__ = ["Looks", "as_looks"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Looks:
    """What several looks at every cell recorded: a table that was filled in more than once.

    A cell (row, column) was looked at several times, and each look says one or zero. Looks are
    kept in up to `n_looks` slots per row, each with its own observer and variables where they
    matter; where looks are interchangeable one slot counts "seen on x of n looks". A `Table` is
    the case of one look.

    Parameters
    ----------
    values : array of shape (n_rows, n_looks, n_columns)
        Zeros and ones, NaN where there was no look. With `tries`, the number of ones.
    tries : array of the same shape, optional
        How many looks each entry of `values` sums up; 0 where there was none.
    rows, looks, columns : list of names, optional
        No duplicates; the positions when left out.
    observers : array of shape (n_rows, n_looks) or (n_looks,), optional
        Who made the look, as text or whole numbers.
    variables : dict of arrays of shape (n_rows, n_looks) or (n_looks,), optional
        What is known of a look: its date, duration, effort.
    row_variables : dict of arrays of shape (n_rows,), optional
        What is known of a row: elevation, forest cover.
    name : str, optional

    Examples
    --------
    >>> import numpy as np
    >>> visits = Looks([[[1, 0], [0, 0]], [[0, 1], [np.nan, np.nan]]],
    ...                rows=["pond", "wood"], columns=["newt", "toad"])
    >>> visits
    Looks: 2 rows × 2 columns, 2 looks at most (1.5 a cell), 33 % of them ones
          newt  toad
    pond  1/2   0/2
    wood  0/1   1/1
    >>> visits.union().to_numpy()
    array([[1., 0.],
           [0., 1.]])
    >>> Looks.from_counts(ones=[[1, 0]], looks=[[2, 3]]).counts
    (array([[1, 0]], dtype=uint8), array([[2, 3]], dtype=uint8))
    """

    ones: NDArray[Any]
    tries: NDArray[Any]
    rows: NDArray[Any]
    looks: NDArray[Any]
    columns: NDArray[Any]
    observers: NDArray[Any] | None
    variables: dict[str, NDArray[np.float64]]
    row_variables: dict[str, NDArray[np.float64]]
    name: str | None

    def __init__(
        self,
        values: Any,
        tries: Any = None,
        *,
        rows: Any = None,
        looks: Any = None,
        columns: Any = None,
        observers: Any = None,
        variables: Mapping[str, Any] | None = None,
        row_variables: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        ones, tries = look_checks.counted(values, tries)
        n_rows, n_looks, n_columns = ones.shape
        slots = (n_rows, n_looks)
        took_place = tries.any(axis=2)
        fields = {
            "ones": ones,
            "tries": tries,
            "rows": as_labels(rows, n_rows, "row"),
            "looks": as_labels(looks, n_looks, "look"),
            "columns": as_labels(columns, n_columns, "column"),
            "observers": None if observers is None else look_checks.observers_of(observers, slots),
            "variables": {
                name: look_checks.variable(name, array, slots, took_place)
                for name, array in dict(variables or {}).items()
            },
            "row_variables": {
                name: look_checks.row_variable(name, array, n_rows)
                for name, array in dict(row_variables or {}).items()
            },
            "name": name,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    # -- other ways to make them ------------------------------------------------------------------

    @classmethod
    def from_counts(cls, ones: Any, looks: Any, **named: Any) -> Looks:
        """Make looks of two tables: seen on `ones` of `looks` looks, cell by cell.

        `looks` may be one number, or one per row (a column vector) or column: it is broadcast.
        Labels are those of a `Table`, or are given by name.
        """
        if isinstance(ones, Table):
            named = {"rows": ones.rows, "columns": ones.columns, "name": ones.name} | named
            _check_same_labels(ones, looks)
        x, n = np.asarray(ones, dtype=float), np.asarray(looks, dtype=float)
        if x.ndim != 2:
            raise DataError(
                f"ones= has shape {x.shape}, but two tables of rows and columns are needed."
            )
        try:
            n = np.broadcast_to(n, x.shape)
        except ValueError:
            raise DataError(
                f"looks= has shape {n.shape}, but ones= has shape {x.shape}; give one number of "
                "looks per cell."
            ) from None
        return cls(x[:, None, :], n[:, None, :], **named)

    @classmethod
    def from_tables(cls, tables: Mapping[Any, Any], **named: Any) -> Looks:
        """Make looks of one wide table per look: ``{"May": table, "June": table}``.

        All tables have the same rows and columns, in the same order.
        """
        if not tables:
            raise DataError("There is no table to make looks of; give one table per look.")
        parts = list(tables.values())
        first = parts[0]
        for part in parts[1:]:
            if np.shape(part) != np.shape(first):
                raise DataError(
                    f"The looks have tables of shapes {np.shape(first)} and {np.shape(part)}; give "
                    "every look the same rows and columns, NaN where it did not take place."
                )
            if isinstance(first, Table):
                _check_same_labels(first, part)
        if isinstance(first, Table):
            named = {"rows": first.rows, "columns": first.columns, "name": first.name} | named
        values = np.stack([np.asarray(part, dtype=float) for part in parts], axis=1)
        return cls(values, looks=list(tables), **named)

    # -- what they say ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, looks and columns."""
        n_rows, n_looks, n_columns = self.ones.shape
        return n_rows, n_looks, n_columns

    @cached_property
    def counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many ones, of how many looks, in every cell: two arrays, rows x columns."""
        ones, tries = self.ones.sum(axis=1, dtype=int), self.tries.sum(axis=1, dtype=int)
        kind = look_checks.smallest(tries)
        return ones.astype(kind), tries.astype(kind)

    @property
    def are_exchangeable(self) -> bool:
        """Whether nothing tells one look from another: no observers, no variables."""
        return self.observers is None and not self.variables

    def union(self) -> Table:
        """The table of cells that any look found; not observed where nobody looked."""
        ones, tries = self.counts
        values = np.where(tries == 0, np.nan, ones > 0)
        return Table(values, self.rows, self.columns, self.name)

    def look(self, label: Any) -> Table:
        """What one look recorded, as a table (of counts where it sums up several)."""
        at = pick(label, self.looks, _lookup(self.looks), "look")[0]
        values = np.where(self.tries[:, at] == 0, np.nan, self.ones[:, at])
        return Table(values, self.rows, self.columns, self.name)

    def select(self, rows: Any = None, looks: Any = None, columns: Any = None) -> Looks:
        """Pick rows, looks and columns by label, position, mask or slice."""
        r = pick(rows, self.rows, _lookup(self.rows), "row")
        j = pick(looks, self.looks, _lookup(self.looks), "look")
        c = pick(columns, self.columns, _lookup(self.columns), "column")
        cells, slots = np.ix_(r, j, c), np.ix_(r, j)
        return Looks(
            self.ones[cells],
            self.tries[cells],
            rows=self.rows[r],
            looks=self.looks[j],
            columns=self.columns[c],
            observers=None if self.observers is None else self.observers[slots],
            variables={name: array[slots] for name, array in self.variables.items()},
            row_variables={name: array[r] for name, array in self.row_variables.items()},
            name=self.name,
        )

    def pooled(self) -> Looks:
        """The same looks as "x of n" in every cell, observers and variables forgotten."""
        ones, tries = self.counts
        return Looks.from_counts(
            ones,
            tries,
            rows=self.rows,
            columns=self.columns,
            row_variables=self.row_variables,
            name=self.name,
        )

    def to_numpy(self) -> NDArray[np.float64]:
        """Array of rows x looks x columns; NaN for no look (where slots count, the shares)."""
        tries, shares = self.tries.astype(float), np.full(self.shape, np.nan)
        np.divide(self.ones, tries, out=shares, where=tries > 0)
        return shares

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the looks to an `.npz` file that `falsezero.read` opens again."""
        from falsezero.data.output import check_target, npz_bytes, write_atomically

        target = check_target(path)
        if target.suffix != ".npz":
            raise DataError(f"{path} does not end in .npz, which is how looks are saved.")
        write_atomically(target, npz_bytes(self._arrays(), compressed=True))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"ones": self.ones, "tries": self.tries}
        arrays |= {"rows": self.rows, "looks": self.looks, "columns": self.columns}
        if self.observers is not None:
            arrays["observers"] = self.observers
        arrays |= {f"look:{name}": array for name, array in self.variables.items()}
        arrays |= {f"row:{name}": array for name, array in self.row_variables.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], source: str, name: str | None = None) -> Looks:
        """Make looks of the arrays of a file that `save` wrote."""
        missing = [key for key in ("ones", "tries", *DIMENSIONS) if key not in arrays]
        if missing:
            raise FileReadError(f"{source} has no array {missing[0]!r}, so it holds no looks.")
        return cls(
            arrays["ones"],
            arrays["tries"],
            rows=arrays["rows"],
            looks=arrays["looks"],
            columns=arrays["columns"],
            observers=arrays.get("observers"),
            variables=_prefixed(arrays, "look:"),
            row_variables=_prefixed(arrays, "row:"),
            name=name,
        )

    def equals(self, other: object) -> bool:
        """Whether looks, labels, observers and variables are the same (the name may differ)."""
        if not isinstance(other, Looks) or self.shape != other.shape:
            return False
        mine, yours = self._arrays(), other._arrays()
        return mine.keys() == yours.keys() and all(
            np.array_equal(mine[key], yours[key], equal_nan=mine[key].dtype.kind == "f")
            for key in mine
        )

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, Looks) else NotImplemented

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return show_looks.looks_as_text(self)

    def _repr_html_(self) -> str:
        return show_looks.looks_as_html(self)


def as_looks(obj: Any, **named: Any) -> Looks:
    """Make `Looks` of whatever holds them: 3-D arrays, a DataArray, a table, looks themselves.

    A 3-D array is rows x looks x columns, NaN where there was no look. The dimensions of an xarray
    DataArray are taken in that order. Two dimensions are one look a cell.

    >>> import numpy as np
    >>> as_looks(np.zeros((4, 3, 2))).shape
    (4, 3, 2)
    >>> as_looks([[0, 1], [1, 1]]).shape
    (2, 1, 2)
    """
    if isinstance(obj, Looks):
        return obj
    if all(hasattr(obj, attribute) for attribute in ("dims", "coords", "values")):
        named = _coordinates(obj) | named
        obj = obj.values
    if np.ndim(obj) == 3:
        return Looks(obj, **named)
    from falsezero.data.read import as_table

    table = as_table(obj)
    labels = {"rows": table.rows, "columns": table.columns, "name": table.name}
    return Looks(table.to_numpy()[:, None, :], **(labels | named))


def is_looks(obj: Any) -> bool:
    """Whether an object holds repeated looks rather than one table."""
    if isinstance(obj, list | tuple):
        return np.ndim(obj) == 3
    return isinstance(obj, Looks) or getattr(obj, "ndim", None) == 3


def _coordinates(obj: Any) -> dict[str, Any]:
    if len(obj.dims) not in (2, 3):
        raise DataError(
            f"Looks have three dimensions, but the DataArray has {tuple(obj.dims)}; bring it to "
            "rows, looks and columns."
        )
    names = DIMENSIONS if len(obj.dims) == 3 else ("rows", "columns")
    return {
        name: np.asarray(obj.coords[dim])
        for name, dim in zip(names, obj.dims, strict=True)
        if dim in obj.coords
    }


def _check_same_labels(first: Table, other: Any) -> None:
    if not isinstance(other, Table):
        return
    for axis in ("rows", "columns"):
        if not np.array_equal(getattr(first, axis), getattr(other, axis)):
            raise DataError(
                f"The tables of two looks differ in their {axis}; bring them into one order with "
                f"table.select({axis}=...)."
            )


def _lookup(labels: NDArray[Any]) -> dict[Any, int]:
    return {label: position for position, label in enumerate(labels.tolist())}


def _prefixed(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
