"""The probability that something is present although a look recorded a zero.

Let p be the probability that a look at a cell records a one, d the probability that a look at
something present records it, and no look record what is absent. Then pi = p / d is the probability
that it is present, and for a cell whose one look recorded nothing

    present = pi (1 - d) / (1 - pi d),    again = d * present.        (1)

With one loss rate e = 1 - d for all cells, present = e p / ((1 - e)(1 - p)). As e goes to 0 so do
both: without d, one look a cell tells their order and not their level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.errors import DataError
from falsezero.data.labels import find_label
from falsezero.data.table import Table

__all__ = ["Detection", "most_content", "present_given_zero", "row_detection", "stated_detection"]

_PRIOR_FINDS = 4.0
"""Weight of the mean rate of all rows in the rate of one row, in finds."""


class Detection(NamedTuple):
    """How often a look finds what is there: a rate for each row times one for each column."""

    rows: np.ndarray
    columns: np.ndarray
    source: str
    """Where the rates come from, in words."""
    most: np.ndarray
    """The largest probability, in each column, that something is there."""

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Detection in every cell of some rows."""
        return self.rows[rows, None] * self.columns[None, :]

    def of_cells(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Detection in single cells."""
        return np.asarray(self.rows[rows] * self.columns[columns])


def present_given_zero(
    expected: np.ndarray, detection: np.ndarray, most: np.ndarray | float = 1.0
) -> np.ndarray:
    """Probability that something is there although one look found nothing (eq. 1).

    pi is at most `most`: `expected` is an estimate, and may exceed `detection`, which p cannot.

    >>> present_given_zero(np.array([0.2, 0.4]), np.array([0.5, 0.5])).round(3)
    array([0.25 , 0.667])
    """
    content = np.minimum(expected / detection, most)
    rest = 1 - content * detection
    return np.divide(content * (1 - detection), rest, out=np.zeros_like(rest), where=rest > 0)


def most_content(table: Table) -> np.ndarray:
    """The largest probability of presence that each column's finds support.

    After n finds without a failure the rule of succession gives (n + 1) / (n + 2): no number of
    finds makes another one certain.

    >>> most_content(Table([[1, 0], [1, 0], [0, 0]]))
    array([0.75, 0.5 ])
    """
    found = table.column_ones
    return np.asarray((found + 1) / (found + 2))


def stated_detection(table: Table, loss: float | None, detection: Any) -> Detection | None:
    """The losses that the user states, checked; None if none were stated.

    `detection` has one number per row or per column, as an array of that length or a dict by label;
    or it is a dict with "rows" and "columns", each in one of these forms.
    """
    if loss is not None and detection is not None:
        raise DataError("loss= and detection= say the same in two ways; give one of them.")
    # One number seen as many: a table in files may have more rows than should be in memory.
    rows, columns = np.broadcast_to(1.0, table.shape[0]), np.ones(table.shape[1])
    most = most_content(table)
    if loss is not None:
        if not (np.ndim(loss) == 0 and 0 < loss < 1):
            raise DataError(
                f"loss={loss!r} must be a rate between 0 and 1, both excluded: the share of what "
                "is there that one look misses."
            )
        rows = np.broadcast_to(1.0 - loss, table.shape[0])
        return Detection(rows, columns, f"your loss rate of {loss:g}", most)
    if detection is None:
        return None
    if isinstance(detection, Mapping) and detection and set(detection) <= {"rows", "columns"}:
        if "rows" in detection:
            rows = _rates(detection["rows"], table.rows, "row")
        if "columns" in detection:
            columns = _rates(detection["columns"], table.columns, "column")
        return Detection(rows, columns, "your detection rates", most)
    if _is_for(detection, table.rows, table.columns):
        return Detection(
            _rates(detection, table.rows, "row"), columns, "your detection rates", most
        )
    rates = _rates(detection, table.columns, "column")
    return Detection(rows, rates, "your detection rates", most)


def row_detection(found: np.ndarray, rates: np.ndarray, most: np.ndarray) -> Detection:
    """Detection by row from the rates that a phantom leaves, shrunk towards their mean.

    A row with `found` ones has found / rate of them in all; the fewer, the less sure is its rate.
    No cell holds something with a probability above `most`, the largest of any content component
    in its column.
    """
    there = found / np.maximum(rates, 0.05)
    drawn = (rates * there + _PRIOR_FINDS * rates.mean()) / (there + _PRIOR_FINDS)
    source = "row-wise losses, which a test found"
    return Detection(np.clip(drawn, 0.05, 1.0), np.ones(len(most)), source, most)


def _is_for(detection: Any, labels: np.ndarray, others: np.ndarray) -> bool:
    """Whether rates belong to the axis with these labels rather than to the other."""
    if isinstance(detection, Mapping):
        names = {str(label) for label in labels.tolist()}
        return all(str(key) in names for key in detection)
    size = np.size(detection)
    if len(labels) == len(others) == size:
        raise DataError(
            f"detection= has {size} rates and the table as many rows as columns; say which they "
            'are, as in detection={"rows": rates}.'
        )
    if size not in (len(labels), len(others)):
        raise DataError(
            f"detection= has {size} rates, but the table has {len(labels)} rows and {len(others)} "
            "columns; give one rate for each row or for each column."
        )
    return size == len(labels)


def _rates(given: Any, labels: np.ndarray, axis: str) -> np.ndarray:
    if isinstance(given, Mapping):
        lookup = {label: i for i, label in enumerate(labels.tolist())}
        rates = np.full(len(labels), np.nan)
        for label, rate in given.items():
            rates[find_label(label, lookup, axis)] = rate
        if np.isnan(rates).any():
            missing = labels[np.isnan(rates)][0]
            raise DataError(f"detection= has no rate for {axis} {missing!r}; give one for each.")
    else:
        rates = np.asarray(given, dtype=float).ravel()
        if len(rates) != len(labels):
            raise DataError(
                f"detection= has {len(rates)} rates for {len(labels)} {axis}s; give one for each."
            )
    if not ((rates > 0) & (rates <= 1)).all():
        raise DataError(
            f"detection= needs rates above 0 and at most 1, but a {axis} has "
            f"{rates[~((rates > 0) & (rates <= 1))][0]:g}."
        )
    return rates
