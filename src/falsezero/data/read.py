"""Read tables: from files (`read`) and from objects in memory (`as_table`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw, to_table
from falsezero.data.errors import DataError
from falsezero.data.layout import Layout, ReadOptions
from falsezero.data.objects import are_baskets, from_baskets, from_object
from falsezero.data.table import Table

__all__ = ["as_table", "read"]


def read(
    path: str | os.PathLike[str],
    *,
    row: str | None = None,
    column: str | None = None,
    value: str | None = None,
    surveyed: Any = None,
    look: str | None = None,
    observer: str | None = None,
    variables: str | Sequence[str] = (),
    row_variables: Any = None,
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
    rows: Any = None,
    columns: Any = None,
    max_gigabytes: float | None = None,
    name: str | None = None,
) -> Any:
    """Read a table of zeros and ones (or counts) from a file.

    The extension decides the format: spreadsheets (`.xlsx`, `.xls`, `.xlsm`, `.xlsb`, `.ods`, with
    ``falsezero[excel]``), Parquet (`.parquet`, `.pq`) and Feather (`.feather`, `.arrow`, with
    ``falsezero[arrow]``), NumPy and scipy (`.npz`: a matrix of `scipy.sparse.save_npz`, or arrays
    `X`, `rows` and `columns`; `.npy`), MatrixMarket (`.mtx`, `.mtx.gz`; with barcodes and features
    of 10x Genomics beside it, cells by genes), AnnData (`.h5ad`, or a `.zarr` folder), BIOM
    (`.biom`), what R saved (`.rds`, `.rda`, `.rdata`, with ``falsezero[r]``) and a table in a
    `.zip`, which may be a Darwin Core archive of GBIF. Any other file is taken for text, such as
    `.csv`, `.tsv`, `.tab` or `.txt` (also gzipped). `falsezero.data.formats` lists them. An option
    that does not apply to a format is refused.

    A cell that is empty or NA, NaN, null, None or ? was *not observed*; x, +, yes, y, present, true
    and t are ones, and no, n, absent, false and f zeros (also ja, oui, sí and nein, non), whatever
    their case. `marks` says what
    other texts mean, or that an empty cell means absent. A pair that a long table does not list, or
    a cell that a sparse matrix does not store, is an observed zero. Where pairs that nobody looked
    at would silently become zeros, give `surveyed`.

    Parameters
    ----------
    path : path
        The file.
    row, column : str, optional
        Names of the columns that hold the row and the column label: the file is a long table, one
        line per pair. Without them the file is wide, one column per attribute.
    value : str, optional
        Column with the value of a pair; without it a listed pair is a one.
    surveyed : pairs, frame, mask, Table or path, optional
        The pairs that were looked at; every other cell is not observed. A find outside them is an
        error. In a long table, surveyed rows and columns without finds join as zeros. With `look`,
        the list of looks that took place.
    look : str, optional
        Column that says which look (visit, night, replicate) a line belongs to: the file holds
        repeated looks and `Looks` come back. With `column` a line is one detection; without it a
        line is one look, with one column per attribute. Give `surveyed` so that looks which found
        nothing are known.
    observer : str, optional
        Column that says who made the look, in `surveyed` where that is given.
    variables : str or list of str
        Columns with numbers that describe a look (date, duration), in `surveyed` where given.
    row_variables : path or data frame, optional
        With `look`, what is known of the rows (elevation, forest cover): one line per row, with the
        column `row` and columns of numbers. Rows that nobody looked at join, to get predictions.
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
        What to leave out: columns and rows of a wide file, such as totals, dates and coordinates;
        rows and columns of a long table by their labels, and with "" the lines that have none.
    marks : dict, optional
        What texts in a text file mean, None for not observed: ``{"P": 1, "A": 0, "-9999": None}``,
        or ``{"": 0}`` where an empty cell means absent.
    duplicates : {"error", "max", "sum"}
        What to do when a long table lists a pair twice.
    layer : str, optional
        The layer of an AnnData file to read instead of X, the sheet of a workbook, the object of an
        `.rda` file, or the file in a zip archive.
    header : bool
        Whether the first line of a wide text file names the columns.
    skip : int
        How many lines stand above the table in a text file; comments after # need not be counted.
    delimiter : str, optional
        What separates fields; by default a tab in `.tsv` and `.tab` files, elsewhere the most
        frequent of comma, semicolon and tab in the first line, or bars or blanks without those.
    encoding : str
        Encoding of a text file.
    rows, columns : path, optional
        Text files with the labels of a matrix (`.npz`, `.npy`, `.mtx`), one per line.
    max_gigabytes : float, optional
        Memory that what the file holds may take; by default one gigabyte, or 32 times the size of
        a larger file. What declares more is refused before any memory is taken.
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
    from falsezero.data.formats import format_of
    from falsezero.data.look_rows import join_row_variables
    from falsezero.data.survey import holds_looks, read_looks
    from falsezero.data.surveyed import restrict_as_asked

    options = ReadOptions(
        row=row,
        column=column,
        value=value,
        index=index,
        duplicates=duplicates,
        drop=(drop,) if isinstance(drop, str) else tuple(drop),
        marks=marks or {},
        layer=layer,
        header=header,
        skip=skip,
        delimiter=delimiter,
        encoding=encoding,
        rows=rows,
        columns=columns,
        max_gigabytes=max_gigabytes,
    )
    if look is not None or holds_looks(path):
        visits: dict[str, Any] = {"look": look, "observer": observer, "variables": variables}
        looks = read_looks(path, options, surveyed=surveyed, binarize=binarize, name=name, **visits)
        return looks if row_variables is None else join_row_variables(looks, row_variables, row)
    if observer is not None or variables or row_variables is not None:
        raise DataError(
            "observer=, variables= and row_variables= describe looks; name their column with look=."
        )
    file = find_file(path)
    raw = format_of(file).read(file, options)
    table = to_table(raw, kind=kind, binarize=binarize, name=name or _stem(file))
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
    (wide, or long with `row` and `column`), query results of DuckDB and cursors of other databases,
    a pandas Series by (row, column), sets, lists or counts of column labels (in a list, or by row
    label in a dict), AnnData, networkx graphs, two-dimensional xarray arrays and `Table` itself.
    The levels of a MultiIndex are kept in `row_levels` and `column_levels` of the table. NaN, NA
    and None mean *not observed*; what a sparse matrix does not store is an observed zero.

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
        The layer of an AnnData object to use instead of X, or the variable of an xarray Dataset.
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
    table = to_table(raw, kind=kind, binarize=binarize, name=name)
    if isinstance(obj, Table):
        table = table._with_levels(
            obj.row_levels if rows is None else table.row_levels,
            obj.column_levels if columns is None else table.column_levels,
        )
    return restrict_as_asked(table, surveyed, row, column, index)


def _raw(obj: Any, layout: Layout, layer: str | None, rows: Any, columns: Any) -> Raw:
    if isinstance(obj, str | os.PathLike):
        raise DataError(f"{str(obj)!r} is not a table; falsezero.read opens files.")
    if are_baskets(obj):
        return _relabelled(from_baskets(obj), rows, columns)
    if isinstance(obj, Table | np.ndarray | list | tuple) or sp.issparse(obj):
        if layout.is_long:
            raise DataError("row= and column= belong to long data frames, not to a matrix.")
        raw = Raw(obj.values, obj.rows, obj.columns) if isinstance(obj, Table) else Raw(obj)
    else:
        from falsezero.data.frames import frame_to_raw

        value = layout.value
        found = from_object(obj, layer=layer, value=value, rows=rows, columns=columns)
        if found is not None and found.source == "The graph":
            return found
        raw = found or frame_to_raw(obj, layout)
    return _relabelled(raw, rows, columns)


def _relabelled(raw: Raw, rows: Any, columns: Any) -> Raw:
    return raw._replace(
        rows=raw.rows if rows is None else rows,
        columns=raw.columns if columns is None else columns,
    )


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rsplit(".", 1)[0]
