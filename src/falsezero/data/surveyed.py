"""The cells that were surveyed; all others are "not observed", not zero."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.checks import to_table
from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.labels import tidy_labels
from falsezero.data.pairs import Pairs, encode
from falsezero.data.table import Table, canonical

__all__ = ["restrict_as_asked"]

BLOCK = 1024


def restrict_as_asked(table: Table, surveyed: Any, row: Any, column: Any, index: Any) -> Table:
    """Mark every cell outside `surveyed`, in any of its forms, as not observed."""
    if surveyed is None:
        return table
    if is_mask(surveyed, table.shape):
        return restrict_to_mask(table, surveyed)
    if isinstance(surveyed, Table):
        pairs = pairs_of_table(surveyed)
    elif isinstance(surveyed, np.ndarray | list | tuple | set | frozenset):
        pairs = pairs_of_list(surveyed)
    else:
        pairs = _pairs_of_frame(surveyed, row, column, index)
    return restrict(table, pairs, grow=row is not None)


def _pairs_of_frame(surveyed: Any, row: Any, column: Any, index: Any) -> Pairs:
    """Pairs from a data frame, or from a file with one."""
    from falsezero.data.files import find_file
    from falsezero.data.formats.parquet import arrow_table
    from falsezero.data.formats.text import long_text
    from falsezero.data.frames import as_frame, long_frame, wide_frame
    from falsezero.data.lines import TextFile

    source = "surveyed="
    if isinstance(surveyed, str | os.PathLike):
        file = find_file(surveyed)
        source = str(file)
        if file.suffix.lower() not in (".parquet", ".pq"):
            return long_text(TextFile(file), row, column, None)
        surveyed = arrow_table(file)[0]
    frame = as_frame(surveyed)
    if frame is None:
        raise DataError(
            "surveyed= needs pairs, a frame, a boolean mask, a Table or a path, not a "
            f"{type(surveyed).__name__}."
        )
    if row is not None and column is not None:
        return long_frame(frame, row, column, None, source)
    if len(frame.columns) == 2:
        first, second = frame.columns
        return long_frame(frame, first, second, None, source)
    return pairs_of_table(to_table(wide_frame(frame, index, source)))


def is_mask(surveyed: Any, shape: tuple[int, int]) -> bool:
    """Whether an object is a matrix of yes and no, rather than a list of pairs.

    Sparse and boolean arrays are; a numeric array is when it has the shape of the table, unless
    that has two columns and could just as well list pairs.
    """
    if sp.issparse(surveyed):
        return True
    if not isinstance(surveyed, np.ndarray):
        return False
    return surveyed.dtype.kind == "b" or (surveyed.shape == shape and shape[1] != 2)


def pairs_of_list(pairs: Any) -> Pairs:
    """Read a list of (row label, column label) pairs."""
    try:
        listed = [tuple(pair) for pair in pairs]
    except TypeError:
        raise DataError(
            f"surveyed= needs pairs of a row and a column label, not a {type(pairs).__name__}."
        ) from None
    for position, pair in enumerate(listed):
        if len(pair) != 2:
            raise DataError(
                f"surveyed= needs pairs of a row and a column label, but entry {position} is "
                f"{quote(pair)}."
            )
    row_codes, rows = encode(pair[0] for pair in listed)
    column_codes, columns = encode(pair[1] for pair in listed)
    known = tidy_labels(rows, "row"), tidy_labels(columns, "column")
    return _plain(row_codes, column_codes, *known)


def pairs_of_table(table: Table) -> Pairs:
    """Take the ones of a table as the surveyed pairs."""
    filled: Any = table.values.tocoo()
    known = ~np.isnan(filled.data)
    return _plain(filled.row[known], filled.col[known], table.rows, table.columns)


def restrict(table: Table, looked: Pairs, *, grow: bool) -> Table:
    """Mark every cell outside the surveyed pairs as not observed.

    With `grow`, surveyed rows and columns without a single find join the table as zeros: a site
    where nothing was found is still a site. Otherwise an unknown label is an error.
    """
    rows, row_of = _align(table.rows, looked.rows, "row", grow)
    columns, column_of = _align(table.columns, looked.columns, "column", grow)
    shape = (len(rows), len(columns))
    where = (row_of[looked.row_codes], column_of[looked.column_codes])
    mask: Any = sp.coo_array((np.ones(where[0].size, dtype=bool), where), shape=shape)
    values: Any = table.values.copy()
    values.resize(shape)
    return restrict_to_mask(Table(values, rows, columns, table.name), mask)


def restrict_to_mask(table: Table, mask: Any) -> Table:
    """Mark every cell that is false in `mask` as not observed."""
    looked: Any = canonical(mask)
    if looked.shape != table.shape:
        raise DataError(
            f"surveyed= has shape {looked.shape}, but the table has shape {table.shape}."
        )
    parts: list[Any] = []
    for start in range(0, table.shape[0], BLOCK):
        block = table.values[start : start + BLOCK].toarray()
        seen = looked[start : start + BLOCK].toarray() != 0
        outside = np.argwhere((block != 0) & ~np.isnan(block) & ~seen)
        if outside.size:
            raise DataError(_unexpected(table, start + outside[0, 0], outside[0, 1]))
        parts.append(sp.csr_array(np.where(seen, block, np.nan)))
    return table.with_values(sp.vstack(parts)) if parts else table


def _align(
    known: NDArray[Any], wanted: NDArray[Any], axis: str, grow: bool
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    lookup = {str(label): position for position, label in enumerate(known.tolist())}
    extra = [label for label in wanted.tolist() if str(label) not in lookup]
    if extra and not grow:
        remedy = suggest(extra[0], lookup, f"its {axis}s")
        raise DataError(f"surveyed= names the {axis} {extra[0]!r}, which the table lacks; {remedy}")
    for label in extra:
        lookup[str(label)] = len(lookup)
    positions = np.array([lookup[str(label)] for label in wanted.tolist()], dtype=np.intp)
    labels = tidy_labels([*known.tolist(), *extra], axis) if extra else known
    return labels, positions


def _plain(row_codes: Any, column_codes: Any, rows: Any, columns: Any) -> Pairs:
    ones = np.ones(len(row_codes))
    return Pairs(row_codes, column_codes, ones, rows, columns, "surveyed=", str)


def _unexpected(table: Table, row: int, column: int) -> str:
    pair = f"({table.rows[row].item()!r}, {table.columns[column].item()!r})"
    return (
        f"The find {pair} is not among the surveyed pairs; add the pair to surveyed= or remove "
        "the find."
    )
