"""Groups of rows by a covariate: age, party, cell type."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.errors import DataError, quote

__all__ = ["RowGroups", "row_groups"]


class RowGroups(NamedTuple):
    """The group of every row, counted from 0 in the order of `names`; -1 for none."""

    codes: np.ndarray
    names: list[str]

    def of_rows(self, rows: np.ndarray) -> RowGroups:
        """The groups of some rows, by position."""
        return RowGroups(self.codes[rows], self.names)

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows in each group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def totals(self, values: Any) -> np.ndarray:
        """Sum over the rows of each group of one number per row."""
        known = self.codes >= 0
        return np.bincount(self.codes[known], np.asarray(values)[known], len(self.names))


def row_groups(groups: Any, rows: Any, *, n_bins: int = 8, option: str = "groups") -> RowGroups:
    """Make groups of a covariate with one value per row.

    More than `n_bins` different numbers are cut into so many groups of about equal size; of fewer,
    and of text, every value is a group. Rows whose value is missing belong to none.

    Parameters
    ----------
    groups : sequence, dict, pandas Series or path
        One value per row in the order of the table; or values by row label, in a dict, a Series
        with an index, or a text file with a column of labels and a column of values.
    rows : labels of the table's rows

    Examples
    --------
    >>> row_groups({"a": "old", "b": "young", "c": "old"}, ["c", "b", "d"])
    RowGroups(codes=array([ 0,  1, -1]), names=['old', 'young'])
    """
    if isinstance(groups, RowGroups):
        return groups
    values = _values(groups, np.asarray(rows), option)
    if len(values) != len(rows):
        raise DataError(f"{option}= has {len(values)} values, but the table has {len(rows)} rows.")
    if values.dtype.kind in "fiub":
        return RowGroups(*_numbers(values.astype(float), n_bins, option))
    return RowGroups(*_words(values))


def _values(groups: Any, rows: np.ndarray, option: str) -> np.ndarray:
    if isinstance(groups, str | os.PathLike):
        from falsezero.data.side_files import read_labelled_values

        groups = read_labelled_values(groups)
    if hasattr(groups, "index") and hasattr(groups, "to_dict"):
        groups = groups.to_dict()
    if not isinstance(groups, Mapping):
        return np.asarray(groups)
    by_text = {str(label): value for label, value in groups.items()}
    found = [by_text.get(str(label)) for label in rows]
    if all(value is None for value in found):
        raise DataError(f"{option}= names no row of the table, whose first is {quote(rows[0])}.")
    numbers = [np.nan if value is None else value for value in found]
    return np.asarray(numbers if _are_numbers(numbers) else found)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float | np.number) for value in values)


def _numbers(values: np.ndarray, n_bins: int, option: str) -> tuple[np.ndarray, list[str]]:
    """Groups of about equal size; rows with an unknown number are left out."""
    known = np.isfinite(values)
    if not known.any():
        raise DataError(f"{option}= has no number, so there are no groups.")
    distinct = np.unique(values[known])
    if len(distinct) <= n_bins:
        groups = np.searchsorted(distinct, np.where(known, values, distinct[0]))
        return np.where(known, groups, -1), [_plain(value) for value in distinct]
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, n_bins + 1)))
    inner = edges[1:-1]
    groups = np.where(known, np.searchsorted(inner, np.nan_to_num(values), side="right"), -1)
    return groups, [f"{_plain(low)}–{_plain(high)}" for low, high in pairwise(edges)]


def _plain(number: float) -> str:
    """A number as people write it; years keep all their digits.

    >>> _plain(1998.0), _plain(2.345678), _plain(12.5)
    ('1998', '2.346', '12.5')
    """
    return np.format_float_positional(float(number), precision=4, fractional=False, trim="-")


def _words(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    known = np.array([value is not None and value == value for value in values.tolist()], bool)
    names, codes = np.unique(values[known].astype(str), return_inverse=True)
    groups = np.full(len(values), -1)
    groups[known] = codes
    return groups, names.tolist()
