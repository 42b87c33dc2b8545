"""The door: any table that people have, from a file or from memory, becomes a `Table`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw, admit
from falsezero.data.errors import DataError
from falsezero.data.table import Table

__all__ = ["as_table", "read"]

MATRICES = (".npz", ".npy", ".mtx", ".h5ad")


@dataclass(frozen=True)
class Layout:
    """How a table is laid out: wide, or long with these names for row, column and value."""

    row: str | None = None
    column: str | None = None
    value: str | None = None
    index: str | bool | None = None
    duplicates: str = "error"
    drop: tuple[str, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether one line holds one pair, checked for completeness."""
        if (self.row is None) != (self.column is None):
            given, other = ("row=", "column=") if self.column is None else ("column=", "row=")
            raise DataError(
                f"A long table needs both row= and column=, but only {given} was given; name the "
                f"column for {other} too."
            )
        if self.row is None and self.value is not None:
            raise DataError("value= belongs to a long table; pass row= and column= with it.")
        if self.row is not None and self.drop:
            raise DataError("drop= belongs to a wide table; in a long one, delete the lines.")
        return self.row is not None


def read(
    path: str | os.PathLike[str],
    *,
    row: str | None = None,
    column: str | None = None,
    value: str | None = None,
    surveyed: Any = None,
    binarize: float | None = None,
    kind: str = "binary",
    index: str | bool | None = None,
    drop: str | Sequence[str] = (),
    marks: Mapping[str, Any] | None = None,
    duplicates: str = "error",
    layer: str | None = None,
    header: bool = True,
    skip: int = 0,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    name: str | None = None,
) -> Table:
    """Read a table of zeros and ones (or counts) from a file.

    The extension tells the format: Parquet (`.parquet`, needs ``falsezero[arrow]``), NumPy and
    scipy (`.npz`: a matrix of `scipy.sparse.save_npz`, or arrays `X`, `rows` and `columns`;
    `.npy`), MatrixMarket (`.mtx`, `.mtx.gz`) and AnnData (`.h5ad`); any other file is taken for
    text, such as CSV or TSV (also gzipped).

    A cell that is empty or NA, NaN, null, None or ? was *not observed*; x, +, yes, y, present, true
    and t are ones, and no, n, absent, false and f zeros, whatever their case. `marks` says what
    other texts mean, or that an empty cell means absent. A pair that a long table does not list, or
    a cell that a sparse matrix does not store, is an observed zero. Where pairs that nobody looked
    at would silently become zeros, give `surveyed`.

    Parameters
    ----------
    path : path
        The file.
    row, column : str, optional
        Names of the columns that hold the row and the column label: the file is a long table, one
        line a pair. Without them the file is wide, one column an attribute.
    value : str, optional
        Column with the value of a pair; without it a listed pair is a one.
    surveyed : pairs, frame, mask, Table or path, optional
        The pairs that were looked at; every other cell is not observed. A find outside them is an
        error. In a long table, surveyed rows and columns without finds join as zeros.
    binarize : float, optional
        Make values above this threshold ones and the others zeros.
    kind : {"binary", "count", "real"}
        What a cell may hold: 0 and 1, whole numbers from 0 up, or any number.
    index : str or False, optional
        The column of a wide file with the row labels. By default the first column, when its
        header is empty, when at least one of its cells is text that is not a number, or when it
        counts the rows (three or more, each one more than the last); otherwise the rows are
        numbered. `False`: no column holds labels.
    drop : str or list of str
        Columns and rows of a wide text or Parquet file to leave out: totals, dates, coordinates.
    marks : dict, optional
        What texts in a text file mean, None for not observed: ``{"P": 1, "A": 0, "-9999": None}``,
        or ``{"": 0}`` where an empty cell means absent.
    duplicates : {"error", "max", "sum"}
        What to do when a long table lists a pair twice.
    layer : str, optional
        The layer of an AnnData file to read instead of X.
    header : bool
        Whether the first line of a wide text file names the columns.
    skip : int
        How many lines stand above the table in a text file; comments after # need not be counted.
    delimiter : str, optional
        What separates fields; by default a tab in `.tsv` and `.tab` files, elsewhere the most
        frequent of comma, semicolon and tab in the first line, or bars or blanks without those.
    encoding : str
        Encoding of a text file.
    name : str, optional
        Name of the table; by default the file's name without extension.

    Labels of text files lose blanks at their ends, and are whole numbers when all on an axis are.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "finds.csv"
    >>> _ = file.write_text("site,genus\\nRudabanya,Hipparion\\nSansan,Anchitherium\\n")
    >>> read(file, row="site", column="genus")
    Table 'finds': 2 rows × 2 columns, 50 % ones, every cell observed
               Hipparion  Anchither…
    Rudabanya  ■          ·
    Sansan     ·          ■
    """
    from falsezero.data.files import find_file
    from falsezero.data.lines import TextFile
    from falsezero.data.surveyed import restrict_as_asked

    names = (drop,) if isinstance(drop, str) else tuple(drop)
    layout = Layout(row, column, value, index, duplicates, names)
    file = find_file(path)
    text = TextFile(file, delimiter, encoding, header or layout.is_long, skip, marks or {})
    raw = _read_raw(text, layout, layer)
    table = admit(raw, kind=kind, binarize=binarize, name=name or _stem(file))
    return restrict_as_asked(table, surveyed, row, column, index)


def as_table(
    obj: Any,
    *,
    row: str | None = None,
    column: str | None = None,
    value: str | None = None,
    surveyed: Any = None,
    binarize: float | None = None,
    kind: str = "binary",
    index: str | bool | None = None,
    duplicates: str = "error",
    layer: str | None = None,
    rows: Any = None,
    columns: Any = None,
    name: str | None = None,
) -> Table:
    """Make a `Table` of anything in memory that holds one.

    Known are NumPy arrays, scipy sparse arrays and matrices, frames of pandas, polars and pyarrow
    (wide, or long with `row` and `column`), AnnData, networkx graphs, two-dimensional xarray
    arrays and `Table` itself. NaN, NA and None mean *not observed*; what a sparse matrix does not
    store is an observed zero.

    The row labels of a wide frame are the column named by `index`; else a pandas index that is not
    the default one; else the first column when it holds text or counts the rows.

    A graph gives its adjacency (`value` names the edge attribute to use instead of 1); a graph
    whose nodes carry networkx's `bipartite` attribute, or `rows` and `columns` as lists of nodes,
    gives that part of it.

    Parameters
    ----------
    obj : object
        What holds the table.
    row, column, value, surveyed, binarize, kind, index, duplicates
        As in `read`.
    layer : str, optional
        The layer of an AnnData object to use instead of X.
    rows, columns : list of labels, optional
        Labels that replace those of the object; for a graph, the nodes to keep.
    name : str, optional
        Name of the table.

    Examples
    --------
    >>> import numpy as np
    >>> as_table(np.array([[0, 2], [5, 0]]), binarize=2, rows=["a", "b"]).to_numpy()
    array([[0., 0.],
           [1., 0.]])
    >>> as_table([[1, 0], [0, 0]], surveyed=[(0, 0), (0, 1), (1, 1)]).to_numpy()
    array([[ 1.,  0.],
           [nan,  0.]])
    """
    from falsezero.data.surveyed import restrict_as_asked

    layout = Layout(row, column, value, index, duplicates)
    raw = _raw(obj, layout, layer, rows, columns)
    if name is None and isinstance(obj, Table):
        name = obj.name
    table = admit(raw, kind=kind, binarize=binarize, name=name)
    return restrict_as_asked(table, surveyed, row, column, index)


def _read_raw(text: Any, layout: Layout, layer: str | None) -> Raw:
    from falsezero.data import files
    from falsezero.data.pairs import pairs_to_raw
    from falsezero.data.text import long_text, wide_text

    file = text.path
    extension = _extension(file)
    if extension in (".parquet", ".pq"):
        frame, stored = files.read_parquet(file, layout.drop)
        if layout.index is None and not layout.is_long:
            layout = replace(layout, index=stored)
        return _frame_raw(frame, layout, str(file))
    if extension not in MATRICES:
        if layout.is_long:
            pairs = long_text(text, layout.row, layout.column, layout.value)
            return pairs_to_raw(pairs, layout.duplicates)
        return wide_text(text, layout.index, layout.drop)
    if layout.is_long:
        raise DataError(f"{file} is a matrix, but row= and column= belong to long tables.")
    if layout.drop:
        raise DataError(f"{file} is a matrix, but drop= belongs to text and Parquet files.")
    if extension == ".h5ad":
        raw = _raw(files.read_h5ad(file), layout, layer, None, None)
        return files.located(raw.values, raw.rows, raw.columns, file)
    readers: dict[str, Callable[[Path], Raw]] = {
        ".npz": files.read_npz,
        ".npy": files.read_npy,
        ".mtx": files.read_mtx,
    }
    return readers[extension](file)


def _raw(obj: Any, layout: Layout, layer: str | None, rows: Any, columns: Any) -> Raw:
    if isinstance(obj, str | os.PathLike):
        raise DataError(f"{str(obj)!r} is not a table; falsezero.read opens files.")
    if isinstance(obj, Table | np.ndarray | list | tuple) or sp.issparse(obj):
        if layout.is_long:
            raise DataError("row= and column= belong to long data frames, not to a matrix.")
        raw = Raw(obj.values, obj.rows, obj.columns) if isinstance(obj, Table) else Raw(obj)
    else:
        from falsezero.data.objects import from_object

        value = layout.value
        found = from_object(obj, layer=layer, value=value, rows=rows, columns=columns)
        if found is not None and found.source == "The graph":
            return found
        raw = found or _frame_raw(obj, layout)
    return raw._replace(
        rows=raw.rows if rows is None else rows,
        columns=raw.columns if columns is None else columns,
    )


def _frame_raw(obj: Any, layout: Layout, source: str = "The frame") -> Raw:
    from falsezero.data.frames import as_frame, long_frame, wide_frame
    from falsezero.data.pairs import pairs_to_raw

    frame = as_frame(obj)
    if frame is None:
        if not hasattr(obj, "__array__"):
            raise DataError(
                f"{type(obj).__name__!r} is not a type of table; give an array, a sparse matrix, "
                "a data frame, AnnData, a graph or an xarray DataArray."
            )
        return Raw(np.asarray(obj))
    if layout.is_long and layout.row is not None and layout.column is not None:
        pairs = long_frame(frame, layout.row, layout.column, layout.value, source)
        return pairs_to_raw(pairs, layout.duplicates)
    return wide_frame(frame, layout.index, source)


def _extension(file: Path) -> str:
    name = file.name.lower()
    return ".mtx" if name.endswith(".mtx.gz") else os.path.splitext(name)[1]


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rsplit(".", 1)[0]
