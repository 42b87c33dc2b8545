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
from falsezero.data.errors import DataError
from falsezero.data.labels import as_labels, pick
from falsezero.data.look_checks import DIMENSIONS
from falsezero.data.look_store import DenseLooks, ListedLooks, Store
from falsezero.data.table import Table

__all__ = ["Looks", "as_looks"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Looks:
    """What several looks at every cell recorded: a table that was filled in more than once.

    A cell (row, column) was looked at several times, and each look says one or zero. Looks are
    kept in up to `n_looks` slots per row, each with its own observer and variables where they
    matter; where looks are interchangeable one slot counts "seen on x of n looks". A `Table` is
    the case of one look. Where looks are many, `from_finds` keeps a list of what they found, and
    so does `falsezero.read`.

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

    store: Store
    """Ones and tries, as arrays or as lists."""
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
        given = (rows, looks, columns, observers, variables, row_variables, name)
        self._fill(DenseLooks(*look_checks.counted(values, tries)), *given)

    def _fill(
        self,
        store: Store,
        rows: Any = None,
        looks: Any = None,
        columns: Any = None,
        observers: Any = None,
        variables: Any = None,
        row_variables: Any = None,
        name: str | None = None,
    ) -> None:
        n_rows, n_looks, n_columns = store.shape
        slots = (n_rows, n_looks)
        fields = {
            "store": store,
            "rows": as_labels(rows, n_rows, "row"),
            "looks": as_labels(looks, n_looks, "look"),
            "columns": as_labels(columns, n_columns, "column"),
            "observers": None if observers is None else look_checks.observers_of(observers, slots),
            "variables": {
                name: look_checks.variable(name, array, slots, store.took_place)
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

    @classmethod
    def from_finds(
        cls, found: Any, took_place: Any, n_columns: int, *, missed: Any = (), **named: Any
    ) -> Looks:
        """Make looks of a list of finds, where most looks found nothing: nights, camera traps.

        Memory follows the finds and the looks, not rows x looks x columns.

        Parameters
        ----------
        found : array of shape (n, 3)
            Positions of the row, the look and the column of each one.
        took_place : bool array of shape (n_rows, n_looks)
            Whether each look took place; it covers all columns.
        n_columns : int
        missed : array of shape (n, 3), optional
            Cells that a look did not cover although it took place.
        **named
            Labels, observers and variables, as for `Looks`.

        Examples
        --------
        >>> Looks.from_finds([[0, 2, 1]], [[True, False, True], [True, True, True]], n_columns=2)
        Looks: 2 rows × 2 columns, 3 looks at most (2.5 a cell), 10 % of them ones
           0    1
        0  0/2  1/2
        1  0/3  0/3
        """
        checked = look_checks.positions(found, took_place, n_columns, missed)
        return cls.from_store(ListedLooks(*checked), **named)

    @classmethod
    def from_store(cls, store: Store, **named: Any) -> Looks:
        """Looks whose ones and tries are at hand, with labels by name."""
        looks = object.__new__(cls)
        looks._fill(store, **named)
        return looks

    def with_store(self, store: Store, **changed: Any) -> Looks:
        """Other ones and tries with the same labels, observers and variables."""
        same: dict[str, Any] = {"rows": self.rows, "looks": self.looks, "columns": self.columns}
        same |= {"observers": self.observers, "variables": self.variables}
        same |= {"row_variables": self.row_variables, "name": self.name}
        return Looks.from_store(store, **(same | changed))

    # -- what they say ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, looks and columns."""
        return self.store.shape

    @property
    def ones(self) -> NDArray[Any]:
        """Number of ones, rows x looks x columns; made anew each time where looks are listed."""
        return self.store.ones

    @property
    def tries(self) -> NDArray[Any]:
        """How many looks each entry of `ones` sums up, 0 where there was none."""
        return self.store.tries

    @property
    def took_place(self) -> NDArray[np.bool_]:
        """Whether a look at a row took place, rows x looks."""
        return self.store.took_place

    @cached_property
    def counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many ones, of how many looks, in every cell: two arrays, rows x columns."""
        ones, tries = self.store.counts()
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
        ones, tries = self.store.look(at)
        values = np.where(tries == 0, np.nan, ones)
        return Table(values, self.rows, self.columns, self.name)

    def select(self, rows: Any = None, looks: Any = None, columns: Any = None) -> Looks:
        """Pick rows, looks and columns by label, position, mask or slice."""
        r = pick(rows, self.rows, _lookup(self.rows), "row")
        j = pick(looks, self.looks, _lookup(self.looks), "look")
        c = pick(columns, self.columns, _lookup(self.columns), "column")
        slots = np.ix_(r, j)
        return self.with_store(
            self.store.select(r, j, c),
            rows=self.rows[r],
            looks=self.looks[j],
            columns=self.columns[c],
            observers=None if self.observers is None else self.observers[slots],
            variables={name: array[slots] for name, array in self.variables.items()},
            row_variables={name: array[r] for name, array in self.row_variables.items()},
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
        from falsezero.data.look_files import arrays_of
        from falsezero.data.output import check_target, npz_bytes, write_atomically

        target = check_target(path)
        if target.suffix != ".npz":
            raise DataError(f"{path} does not end in .npz, which is how looks are saved.")
        write_atomically(target, npz_bytes(arrays_of(self), compressed=True))

    def equals(self, other: object) -> bool:
        """Whether looks, labels, observers and variables are the same (the name may differ)."""
        from falsezero.data.look_files import are_equal

        return isinstance(other, Looks) and are_equal(self, other)

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
