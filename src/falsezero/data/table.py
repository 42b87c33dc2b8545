"""A labelled table of zeros and ones (or counts), some cells of which may be unobserved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data import show
from falsezero.data.errors import DataError, import_for
from falsezero.data.indices import check_indices
from falsezero.data.labels import as_labels, find_label, pick
from falsezero.data.levels import (
    Levels,
    join_levels,
    levels_of,
    mask_of,
    multi_index,
    own_name,
    picked,
)
from falsezero.data.values import filled

if TYPE_CHECKING:
    import pandas as pd

    from falsezero.data.tidy import Tidy

__all__ = ["Table"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Table:
    """A labelled table: rows are observations, columns are attributes.

    Three kinds of cells exist. A number above zero is stored in `values`; a stored NaN means
    "not observed"; everything that is not stored is an observed zero. The table is not meant to be
    changed: every method gives a new one.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Dense (NaN or masked: not observed) or any scipy sparse array or matrix. It is copied into
        a canonical float64 `csr_array` without stored zeros.
    rows, columns : list of names, optional
        Whole numbers or text, no duplicates; the positions when left out. The levels of a pandas
        MultiIndex are kept in `row_levels` and `column_levels`, and joined by " / " in the label.
    name : str, optional
        What the table is called in print, such as its file name.

    Examples
    --------
    >>> import numpy as np
    >>> finds = Table([[1, 0, 1], [0, np.nan, 1]], rows=["Rudabanya", "Can Llobateres"],
    ...               columns=["Hipparion", "Dryopithecus", "Sus"])
    >>> finds
    Table: 2 rows × 3 columns, 60 % ones, 1 cell not observed
                    Hipparion  Dryopithe…  Sus
    Rudabanya       ■          ·           ■
    Can Llobateres  ·          ?           ■
    >>> finds.n_ones, finds.n_missing
    (3, 1)
    >>> finds.select(rows=["Rudabanya"], columns=["Sus", "Hipparion"]).to_numpy()
    array([[1., 1.]])
    """

    values: sp.csr_array
    rows: NDArray[Any]
    columns: NDArray[Any]
    name: str | None
    row_levels: Levels | None
    """Where row labels have several levels, the values of each by name, one per row."""
    column_levels: Levels | None

    def __init__(
        self, values: Any, rows: Any = None, columns: Any = None, name: str | None = None
    ) -> None:
        matrix = canonical(values)
        if np.isinf(matrix.data).any():
            row, column = cell_of(matrix, int(np.argmax(np.isinf(matrix.data))))
            raise DataError(f"The cell in row {row}, column {column} is infinite.")
        object.__setattr__(self, "values", matrix)
        object.__setattr__(self, "rows", as_labels(rows, matrix.shape[0], "row"))
        object.__setattr__(self, "columns", as_labels(columns, matrix.shape[1], "column"))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "row_levels", levels_of(rows))
        object.__setattr__(self, "column_levels", levels_of(columns))

    def _with_levels(self, rows: Levels | None, columns: Levels | None) -> Table:
        """This new table, its labels described by these levels."""
        object.__setattr__(self, "row_levels", rows)
        object.__setattr__(self, "column_levels", columns)
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n_rows, n_columns = self.values.shape
        return int(n_rows), int(n_columns)

    @property
    def n_ones(self) -> int:
        """Number of observed cells that are not zero."""
        return int(self.values.nnz) - self.n_missing

    @cached_property
    def n_missing(self) -> int:
        """Number of cells that were not observed."""
        return int(np.isnan(self.values.data).sum())

    @property
    def column_ones(self) -> NDArray[np.intp]:
        """Number of ones in each column."""
        is_one = self.values.data == 1
        return np.bincount(self.values.indices[is_one], minlength=self.shape[1])

    @property
    def density(self) -> float:
        """Share of ones (for counts: of nonzero cells) among the observed cells."""
        n_observed = self.shape[0] * self.shape[1] - self.n_missing
        return self.n_ones / n_observed if n_observed else 0.0

    @property
    def missing(self) -> sp.csr_array:
        """The cells that were not observed, as a sparse boolean array."""
        unknown = np.isnan(self.values.data)
        mask = sp.csr_array((unknown, self.values.indices, self.values.indptr), self.shape).copy()
        mask.eliminate_zeros()
        return mask

    @property
    def observed(self) -> NDArray[np.bool_]:
        """The cells that were observed, as a dense boolean array of the table's full shape."""
        missing: NDArray[np.bool_] = self.missing.toarray()
        return ~missing

    @property
    def is_binary(self) -> bool:
        """Whether every observed cell is 0 or 1."""
        return bool(np.all((self.values.data == 1.0) | np.isnan(self.values.data)))

    @property
    def T(self) -> Table:  # noqa: N802
        """The table with rows and columns exchanged."""
        return self.transpose()

    def transpose(self) -> Table:
        """Exchange rows and columns."""
        exchanged = Table(self.values.T, self.columns, self.rows, self.name)
        return exchanged._with_levels(self.column_levels, self.row_levels)

    def row(self, label: Any) -> int:
        """Position of the row with this label.

        >>> Table([[1], [0]], rows=["Rudabanya", "Sansan"]).row("Rudabana")
        Traceback (most recent call last):
        ...
        falsezero.data.errors.DataError: There is no row labelled 'Rudabana'; \
did you mean 'Rudabanya'?
        """
        return find_label(label, self._row_lookup, "row")

    def column(self, label: Any) -> int:
        """Position of the column with this label."""
        return find_label(label, self._column_lookup, "column")

    def select(self, rows: Any = None, columns: Any = None) -> Table:
        """Pick rows and columns, in the order given.

        Each argument is a label, a list of labels, a list of positions, a boolean mask, a slice of
        positions, or None for all. On an axis whose labels are whole numbers, whole numbers are
        labels. Where labels have levels, a mapping picks by level: ``rows={"region": "Alps"}``.

        >>> import numpy as np
        >>> digits = Table(np.eye(3), columns=list("abc"))
        >>> digits.select(rows=[True, False, True], columns=["c", "a"]).to_numpy()
        array([[0., 1.],
               [1., 0.]])
        """
        rows = mask_of(rows, self.row_levels, "row")
        columns = mask_of(columns, self.column_levels, "column")
        picked_rows = pick(rows, self.rows, self._row_lookup, "row")
        picked_columns = pick(columns, self.columns, self._column_lookup, "column")
        values = self.values
        if rows is not None:
            values = values[picked_rows]
        if columns is not None:
            values = values[:, picked_columns]
        chosen = Table(values, self.rows[picked_rows], self.columns[picked_columns], self.name)
        levels = picked(self.row_levels, picked_rows), picked(self.column_levels, picked_columns)
        return chosen._with_levels(*levels)

    def __getitem__(self, wanted: Any) -> Any:
        """``table[rows]`` and ``table[rows, columns]`` as `select`; for two labels, the cell.

        >>> digits = Table([[1, 0], [0, 1]], rows=["one", "two"], columns=["a", "b"])
        >>> digits["one", "a"], digits[["two"]].to_numpy().tolist()
        (1.0, [[0.0, 1.0]])
        """
        rows, columns = wanted if isinstance(wanted, tuple) else (wanted, slice(None))
        picked = self.select(rows=rows, columns=columns)
        single = all(isinstance(w, str) or np.ndim(w) == 0 for w in (rows, columns))
        is_cell = single and not isinstance(rows, slice) and not isinstance(columns, slice)
        return float(picked.to_numpy()[0, 0]) if is_cell else picked

    def with_values(self, values: Any) -> Table:
        """Keep labels and name, put other values of the same shape in."""
        other = Table(values, self.rows, self.columns, self.name)
        return other._with_levels(self.row_levels, self.column_levels)

    def add_levels(self, found: Tidy) -> Tidy:
        """A list of cells, rows or columns of this table, with a column per level of their labels.

        >>> import falsezero as fz, pandas as pd
        >>> plots = pd.MultiIndex.from_tuples([("Alps", 7), ("Jura", 2)], names=["region", "plot"])
        >>> table = Table([[1, 0], [0, 1]], plots, ["Sus", "Felis"])
        >>> table.add_levels(fz.Tidy(row=["Jura / 2"], column=["Sus"], expected=[0.7]))
        row       region  plot  column  expected
        Jura / 2  Jura       2  Sus          0.7
        """
        with_rows = join_levels(found, "row", self.row_levels, self._row_lookup)
        return join_levels(with_rows, "column", self.column_levels, self._column_lookup)

    def to_numpy(self) -> NDArray[np.float64]:
        """Dense float array; NaN marks cells that were not observed."""
        return np.asarray(self.values.toarray())

    def to_pandas(self) -> pd.DataFrame:
        """Dense pandas frame with the labels, or their levels, as index and columns.

        It needs pandas.
        """
        with import_for("Table.to_pandas", "pandas", "pandas"):
            import pandas as pd
        index = multi_index(self.row_levels, self.rows)
        columns = multi_index(self.column_levels, self.columns)
        return pd.DataFrame(self.to_numpy(), index=index, columns=columns)

    def to_polars(self) -> Any:
        """Dense polars frame, the row labels in a first column `row` (needs polars)."""
        with import_for("Table.to_polars", "polars", "polars"):
            import polars as pl
        cells = self.to_numpy()
        columns = {str(name): cells[:, i] for i, name in enumerate(self.columns.tolist())}
        return pl.DataFrame({"row": self.rows, **columns})

    def to_xarray(self) -> Any:
        """Dense xarray DataArray with dimensions row and column (needs xarray).

        Levels of labels become coordinates along them.
        """
        with import_for("Table.to_xarray", "xarray", "xarray"):
            import xarray as xr
        labels: dict[str, Any] = {"row": self.rows, "column": self.columns}
        for axis, levels in (("row", self.row_levels), ("column", self.column_levels)):
            for name, values in (levels or {}).items():
                labels[own_name(name, axis, labels)] = (axis, values)
        return xr.DataArray(self.to_numpy(), labels, dims=("row", "column"), name=self.name)

    def equals(self, other: object) -> bool:
        """Whether shape, labels, values and unobserved cells are the same (the name may differ)."""
        if not isinstance(other, Table) or self.shape != other.shape:
            return False
        a, b = self.values, other.values
        return (
            np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(a.indptr, b.indptr)
            and np.array_equal(a.indices, b.indices)
            and np.array_equal(a.data, b.data, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, Table) else NotImplemented

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("A Table is stored sparse, so its dense array is always a copy.")
        return self.to_numpy().astype(dtype or np.float64, copy=False)

    def __repr__(self) -> str:
        return show.as_text(self)

    def _repr_html_(self) -> str:
        return show.as_html(self)

    @cached_property
    def _row_lookup(self) -> dict[Any, int]:
        return {label: position for position, label in enumerate(self.rows.tolist())}

    @cached_property
    def _column_lookup(self) -> dict[Any, int]:
        return {label: position for position, label in enumerate(self.columns.tolist())}


def cell_of(values: sp.csr_array, entry: int) -> tuple[int, int]:
    """Row and column of one stored entry."""
    row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
    return row, int(values.indices[entry])


def canonical(values: Any) -> sp.csr_array:
    """Copy any matrix of numbers into a sorted float64 `csr_array` without stored zeros."""
    matrix: Any = sp.csr_array(
        _real(check_indices(values)) if sp.issparse(values) else _dense(values)
    )
    if matrix.ndim != 2:
        raise DataError(f"A table has two dimensions, but the sparse array has {matrix.ndim}.")
    return sorted_out(matrix)


def sorted_out(matrix: sp.csr_array) -> sp.csr_array:
    """The same matrix with its columns in order, none of them twice, and no stored zeros.

    The input is never changed: it belongs to the caller, and may be read-only (joblib shares large
    arrays between processes that way).
    """
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _dense(values: Any) -> NDArray[np.float64]:
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = filled(values)
        array = _real(np.asarray(values))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError("A table needs numbers in rows of equal length.") from None
    if array.ndim != 2:
        raise DataError(
            f"A table has two dimensions, but the array has shape {array.shape}; "
            "reshape it to (rows, columns)."
        )
    return array


def _real(array: np.ndarray) -> NDArray[np.float64]:
    if array.dtype.kind == "c":
        raise DataError("A table needs real numbers, but complex ones were given.")
    return array.astype(np.float64, copy=True)
