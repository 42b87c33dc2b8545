"""One pass over all cells: the surprising zeros, and what rows and columns add up to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.audit.probabilities import Probabilities
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy

__all__ = ["ZeroSurvey", "best_cells", "how_many", "mask_at", "most_surprising", "survey_cells"]

_MOST_LISTED = 100_000
"""Zeros that a list may have; of more, the best are kept."""

SURPRISING = 0.5
"""A zero is surprising where a one was expected more often than not."""


class ZeroSurvey(NamedTuple):
    """What one pass over the zeros found."""

    rows: np.ndarray
    columns: np.ndarray
    expected: np.ndarray
    order: np.ndarray
    """By what the zeros are ordered: larger first."""
    row_expected: np.ndarray
    """Sum of `expected` over the zeros of each row."""
    column_expected: np.ndarray
    row_surprising: np.ndarray
    column_surprising: np.ndarray
    row_present: np.ndarray
    """Sum of `present` over the zeros of each row; NaN where it is not identified."""
    column_present: np.ndarray

    @property
    def n_surprising(self) -> int:
        """How many zeros are surprising, listed or not."""
        return int(self.column_surprising.sum())

    def without_list(self) -> ZeroSurvey:
        """The same without any cell listed."""
        empty = np.empty(0, dtype=int)
        return self._replace(rows=empty, columns=empty, expected=empty * 1.0)


def survey_cells(
    table: Table,
    expected: Probabilities,
    present: Probabilities | None,
    checked: Any,
) -> ZeroSurvey:
    """Look at every zero once, a few rows at a time; zeros in the mask `checked` are left out."""
    n_rows, n_columns = table.shape
    sums = {name: np.zeros(n_rows) for name in ("expected", "surprising", "present")}
    across = {name: np.zeros(n_columns) for name in sums}
    kept: list[tuple[np.ndarray, ...]] = []
    listed = 0
    for rows, p in expected.blocks():
        codes = table.values[rows].toarray()
        zero = codes == 0
        if checked is not None:
            zero &= ~checked[rows].toarray()
        there = p if present is None else present.of_rows(rows)
        surprising = zero & (p > SURPRISING)
        for name, part in (("expected", p), ("surprising", surprising), ("present", there)):
            cells = np.where(zero, part, 0.0)
            sums[name][rows] = cells.sum(axis=1)
            across[name] += cells.sum(axis=0)
        at, column = np.nonzero(surprising)
        kept.append((rows[at], column, p[at, column], there[at, column]))
        listed += len(at)
        if listed > 2 * _MOST_LISTED:
            kept = [best_cells(kept)]
            listed = len(kept[0][0])
    rows, columns, p, order = best_cells(kept)
    blank = np.nan if present is None else 1.0
    return ZeroSurvey(
        rows,
        columns,
        p,
        order,
        sums["expected"],
        across["expected"],
        sums["surprising"].astype(int),
        across["surprising"].astype(int),
        sums["present"] * blank,
        across["present"] * blank,
    )


def best_cells(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The cells of a list that come first: rows, columns, `expected`, what orders them, and more.

    Whatever else is known of the cells may follow, one array each.
    """
    each = [np.concatenate(part) for part in zip(*parts, strict=True)]
    rows, columns, p, order = each[:4]
    first = np.lexsort((columns, rows, -p, -order))[:_MOST_LISTED]
    return tuple(array[first] for array in each)


def mask_at(mask: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Whether a sparse mask is set in single cells."""
    return np.asarray(mask[rows, columns]).ravel().astype(bool)


def most_surprising(side: Tidy) -> np.ndarray:
    """Positions of rows or columns, those with the most surprising zeros first."""
    return np.lexsort((-side["expected"], -side["surprising"]))


def how_many(surprising: int, zeros: int) -> str:
    """How many zeros are surprising, in a sentence."""
    if surprising == 0:
        return f"None of the {zeros:,} zeros is surprising: nowhere was a one more likely than not."
    verb = "is" if surprising == 1 else "are"
    return (
        f"{surprising:,} of the {zeros:,} zeros {verb} surprising: a one was expected there more "
        "often than not."
    )
