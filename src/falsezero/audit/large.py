"""The survey of a table with too many cells to visit: exact lists, sums from a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from falsezero.audit.cells import ZeroSurvey, best_cells, mask_at
from falsezero.audit.doubt import Detection
from falsezero.audit.probabilities import Probabilities
from falsezero.data.table import Table
from falsezero.models.average.large import CellOdds, stored_cells

__all__ = ["share_above", "survey_large", "weights_above"]

_PER_ROW = 32
"""Cells that are drawn of each row."""

_ROWS_AT_A_TIME = 20_000


class _Zeros(NamedTuple):
    """Zeros drawn at random, and how many each stands for."""

    rows: np.ndarray
    columns: np.ndarray
    weight: np.ndarray
    expected: np.ndarray


def survey_large(
    table: Table, odds: CellOdds, present: Probabilities | None, checked: Any, first: int = 0
) -> ZeroSurvey:
    """Surprising zeros by bounded search, all of them; sums over zeros from cells drawn by row.

    Sums of `expected` and `present` are unbiased estimates, to some ten per cent for a row and much
    better for a column; numbers of surprising zeros are exact. `first` is the position of the first
    row where the table is part of another.
    """
    n_rows, n_columns = table.shape
    counts = np.zeros(n_rows, int), np.zeros(n_columns, int)
    nothing = np.empty(0, dtype=int)
    kept: list[tuple[np.ndarray, ...]] = [(nothing, nothing, nothing * 1.0, nothing * 1.0)]
    for rows, columns, log_odds in odds.surprising(table.values):
        if checked is not None:
            free = ~mask_at(checked, rows, columns)
            rows, columns, log_odds = rows[free], columns[free], log_odds[free]
        counts[0][:] += np.bincount(rows, minlength=n_rows)
        counts[1][:] += np.bincount(columns, minlength=n_columns)
        p = expit(log_odds)
        kept.append((rows, columns, p, p if present is None else present.at(rows, columns)))
        kept = [best_cells(kept)]
    sums = np.zeros((2, n_rows)), np.zeros((2, n_columns))
    for zeros in _sampled_zeros(table, odds, checked, first):
        there = zeros.expected if present is None else present.at(zeros.rows, zeros.columns)
        for i, part in enumerate((zeros.expected, there)):
            sums[0][i] += np.bincount(zeros.rows, zeros.weight * part, n_rows)
            sums[1][i] += np.bincount(zeros.columns, zeros.weight * part, n_columns)
    rows, columns, p, order = kept[0]
    blank = np.nan if present is None else 1.0
    (by_row, row_there), (by_column, column_there) = sums
    return ZeroSurvey(
        rows, columns, p, order, by_row, by_column, *counts, row_there * blank, column_there * blank
    )


def _sampled_zeros(
    table: Table, odds: CellOdds, checked: Any = None, first: int = 0
) -> Iterator[_Zeros]:
    """Zeros of all rows, more of them where ones are likely, some rows at a time.

    Each time they are drawn from a stream that is named by the position of the first row.
    """
    for start in range(0, table.shape[0], _ROWS_AT_A_TIME):
        rng = np.random.default_rng([0, first + start])
        some = np.arange(start, min(start + _ROWS_AT_A_TIME, table.shape[0]))
        rows, columns, weight = odds.sample(some, _PER_ROW, rng)
        free = ~stored_cells(table.values, rows, columns)
        if checked is not None:
            free &= ~mask_at(checked, rows, columns)
        rows, columns = rows[free], columns[free]
        yield _Zeros(rows, columns, weight[free], expit(odds.at(rows, columns)))


def share_above(
    table: Table, expected: Probabilities, detection: Detection, odds: CellOdds | None
) -> float:
    """Share of the zeros whose `expected` exceeds the detection rate there.

    From cells drawn by row where `odds` says that there are too many, otherwise from all of them.
    """
    if odds is not None:
        above, zeros = weights_above(table, odds, detection)
        return above / max(1.0, zeros)
    above = zeros = 0.0
    for rows, p in expected.blocks():
        zero = table.values[rows].toarray() == 0
        above += int((zero & (p > detection.of_rows(rows))).sum())
        zeros += int(zero.sum())
    return above / max(1.0, zeros)


def weights_above(
    table: Table, odds: CellOdds, detection: Detection, first: int = 0
) -> tuple[float, float]:
    """Estimated number of zeros whose `expected` exceeds the detection rate there, and of zeros."""
    above = zeros = 0.0
    for some in _sampled_zeros(table, odds, first=first):
        is_above = some.expected > detection.of_cells(some.rows, some.columns)
        above += float(some.weight @ is_above)
        zeros += float(some.weight.sum())
    return above, zeros
