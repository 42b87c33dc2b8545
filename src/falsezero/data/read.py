"""The door: any table that people have, from a file or from memory, becomes a `Table`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw, admit
from falsezero.data.errors import DataError, suggest
from falsezero.data.table import Table

__all__ = ["as_table", "read"]

TEXT = (".csv", ".tsv", ".tab", ".txt")
BINARY = (".parquet", ".pq", ".npz", ".npy", ".mtx", ".h5ad")


@dataclass(frozen=True)
class Layout:
    """How a table is laid out: wide, or long with these names for row, column and value."""

    row: str | None = None
    column: str | None = None
    value: str | None = None
    index: str | bool | None = None
    duplicates: str = "error"

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
    duplicates: str = "error",
    layer: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    name: str | None = None,
) -> Table:
    """Read a table of zeros and ones (or counts) from a file.

    The extension tells the format: CSV and TSV (`.csv`, `.tsv`, `.tab`, `.txt`, also gzipped),
    Parquet (`.parquet`, needs ``falsezero[arrow]``), NumPy and scipy (`.npz`: a matrix of
    `scipy.sparse.save_npz`, or arrays `X`, `rows` and `columns`; `.npy`), MatrixMarket (`.mtx`,
    `.mtx.gz`) and AnnData (`.h5ad`).

    A cell that is empty or NA, NaN, null, None or ? was *not observed*; a pair that a long table
    does not list, or a cell that a sparse matrix does not store, is an observed zero. Where pairs
    that nobody looked at would silently become zeros, give `surveyed`.

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
        header is empty or when at least one of its cells is text that is not a number; otherwise
        the rows are numbered. `False`: no column holds labels.
    duplicates : {"error", "max", "sum"}
        What to do when a long table lists a pair twice.
    layer : str, optional
        The layer of an AnnData file to read instead of X.
    header : bool
        Whether the first line of a wide text file names the columns.
    delimiter : str, optional
        What separates fields; by default a tab in `.tsv` and `.tab` files, elsewhere the most
        frequent of comma, semicolon and tab in the first line.
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

    layout = Layout(row, column, value, index, duplicates)
    file = find_file(path)
    raw = _read_raw(file, layout, layer, header, delimiter, encoding)
    table = admit(raw, kind=kind, binarize=binarize, name=name or _stem(file))
    return _restricted(table, surveyed, layout)


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
    the default one; else the first column when it holds text. A graph gives its adjacency (`value`
    names the edge attribute to use instead of 1); a graph whose nodes carry networkx's `bipartite`
    attribute, or `rows` and `columns` as lists of nodes, gives that part of it.

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
    layout = Layout(row, column, value, index, duplicates)
    raw = _raw(obj, layout, layer, rows, columns)
    if name is None and isinstance(obj, Table):
        name = obj.name
    table = admit(raw, kind=kind, binarize=binarize, name=name)
    return _restricted(table, surveyed, layout)


def _read_raw(
    file: Path, layout: Layout, layer: str | None, header: bool, delimiter: Any, encoding: str
) -> Raw:
    from falsezero.data import files
    from falsezero.data.pairs import pairs_to_raw
    from falsezero.data.text import TextFile, long_text, wide_text

    extension = _extension(file)
    if extension in TEXT:
        text = TextFile(file, delimiter, _known_encoding(encoding), header or layout.is_long)
        if layout.is_long:
            pairs = long_text(text, layout.row, layout.column, layout.value)
            return pairs_to_raw(pairs, layout.duplicates)
        return wide_text(text, layout.index)
    if extension in (".parquet", ".pq"):
        frame, stored = files.read_parquet(file)
        if layout.index is None and not layout.is_long:
            layout = replace(layout, index=stored)
        return _frame_raw(frame, layout, str(file))
    if layout.is_long:
        raise DataError(f"{file} is a matrix, but row= and column= belong to long tables.")
    if extension == ".h5ad":
        return _raw(files.read_h5ad(file), layout, layer, None, None)
    readers: dict[str, Callable[[Path], Raw]] = {
        ".npz": files.read_npz,
        ".npy": files.read_npy,
        ".mtx": files.read_mtx,
    }
    if extension not in readers:
        known = ", ".join(TEXT + BINARY)
        raise DataError(f"{file} has the unknown extension {extension!r}; known are {known}.")
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


def _restricted(table: Table, surveyed: Any, layout: Layout) -> Table:
    if surveyed is None:
        return table
    from falsezero.data import surveyed as looked

    if isinstance(surveyed, Table):
        pairs = looked.pairs_of_table(surveyed)
    elif looked.is_mask(surveyed, table.shape):
        return looked.restrict_to_mask(table, surveyed)
    elif isinstance(surveyed, np.ndarray | list | tuple | set | frozenset):
        pairs = looked.pairs_of_list(surveyed)
    else:
        pairs = _surveyed_pairs(surveyed, layout)
    return looked.restrict(table, pairs, grow=layout.row is not None)


def _surveyed_pairs(surveyed: Any, layout: Layout) -> Any:
    from falsezero.data import files
    from falsezero.data.frames import as_frame, long_frame, wide_frame
    from falsezero.data.surveyed import pairs_of_table
    from falsezero.data.text import TextFile, long_text

    source = "surveyed="
    if isinstance(surveyed, str | os.PathLike):
        file = files.find_file(surveyed)
        source = str(file)
        if _extension(file) in TEXT:
            return long_text(TextFile(file), layout.row, layout.column, None)
        if _extension(file) not in (".parquet", ".pq"):
            raise DataError(f"{file} must be a CSV, TSV or Parquet file with the surveyed pairs.")
        surveyed = files.read_parquet(file)[0]
    frame = as_frame(surveyed)
    if frame is None:
        raise DataError(
            "surveyed= needs pairs, a frame, a boolean mask, a Table or a path, not a "
            f"{type(surveyed).__name__}."
        )
    if layout.row is not None and layout.column is not None:
        return long_frame(frame, layout.row, layout.column, None, source)
    if len(frame.columns) == 2:
        first, second = frame.columns
        return long_frame(frame, first, second, None, source)
    return pairs_of_table(admit(wide_frame(frame, layout.index, source)))


def _extension(file: Path) -> str:
    name = file.name.lower()
    bare = name.removesuffix(".gz")
    extension = os.path.splitext(bare)[1]
    gzipped = bare != name and extension not in (*TEXT, ".mtx")
    return os.path.splitext(name)[1] if gzipped else extension


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rsplit(".", 1)[0]


def _known_encoding(encoding: str) -> str:
    import codecs

    try:
        codecs.lookup(encoding)
    except LookupError:
        common = ("utf-8", "latin-1", "cp1252", "utf-16")
        mend = suggest(encoding, common, "try one of")
        raise DataError(f"encoding={encoding!r} is not known; {mend}") from None
    return encoding
