"""Revisits turn surprise into probability: the calibrated chance of a one at the next look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.audit.audit import Audit
from falsezero.audit.column_map import ColumnMap, fit_column_map
from falsezero.audit.probabilities import Probabilities
from falsezero.data.errors import DataError, suggest
from falsezero.data.read import as_table
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.models.average.stacking import clipped_logit

__all__ = ["Calibration", "calibrate", "calibration_error", "reliability"]

_FOLDS = 5
_FEWEST_ROWS = 5
_FEWEST_FOUND = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map learnt from revisits: logit again = level + slope logit(expected) + effect of column.

    Attributes
    ----------
    learnt : ColumnMap
        Level, slope and effects.
    revisited : array of bool
        Rows of the audited table that were looked at again.
    cells : sparse array
        The zeros looked at again.
    score, hit : array
        Each of them: probability by the map learnt in other rows, and whether a one was found.
    row : array
        Their rows.
    error : float
        Expected calibration error of those probabilities.
    """

    expected: Probabilities
    learnt: ColumnMap
    revisited: np.ndarray
    cells: sparse.csr_array
    score: np.ndarray
    hit: np.ndarray
    row: np.ndarray
    error: float

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of every cell of some rows."""
        return self.learnt(clipped_logit(self.expected.of_rows(rows)), np.s_[:])

    def of_cells(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of single cells."""
        return self.learnt(clipped_logit(self.expected.at(rows, columns)), columns)

    @property
    def reliability(self) -> Tidy:
        """Predicted and observed rates in ten groups of equal size, cross-validated by rows."""
        return reliability(self.score, self.hit)

    @property
    def sentence(self) -> str:
        """The calibration in words."""
        return (
            f"In {int(self.revisited.sum())} rows that were looked at again, {int(self.hit.sum())} "
            f"of {len(self.hit)} zeros became ones; probabilities learnt from them are off by "
            f"{self.error:.3f} on average."
        )


def calibrate(audit: Audit, *, revisits: Any) -> Audit:
    """Calibrate an audit by rows that were looked at again.

    The logit of `again`, the probability of a one at the next look at a zero, is modelled as linear
    in the logit of `expected`, with an effect for each column: some things are found more easily at
    a second look than others. The slope is held near 1 and the effects near 0, the more so the
    fewer revisits there are. Rows, not cells, are set aside for validation: cells of a row have
    much in common.

    Parameters
    ----------
    audit : Audit
    revisits : Table, array or data frame
        Rows and columns of the audited table (some of each, with its labels) as the second look
        found them; NaN where nobody looked again. A plain array must have the table's shape.

    Returns
    -------
    Audit
        With `again` calibrated, `select` and `plan` ready.

    Examples
    --------
    >>> import falsezero as fz
    >>> there = fz.datasets.make_aspect_bernoulli(200, 20, 3, random_state=0).table
    >>> first = fz.corrupt(there, omit=0.6, random_state=1)
    >>> second = fz.corrupt(there, omit=0.6, random_state=2).select(rows=list(range(60)))
    >>> found = fz.calibrate(fz.audit(first, random_state=0), revisits=second)
    >>> found.again.shape, len(found.plan(5))
    ((200, 20), 5)
    """
    rows, columns, hit = _second_looks(audit.table, revisits)
    if len(np.unique(rows)) < _FEWEST_ROWS or not _FEWEST_FOUND <= hit.sum() < len(hit):
        raise DataError(
            f"revisits= looks again at {len(hit)} zeros in {len(np.unique(rows))} rows and finds "
            f"{int(hit.sum())} ones; calibration needs at least {_FEWEST_ROWS} rows and "
            f"{_FEWEST_FOUND} new ones."
        )
    odds = _expected_odds(audit, rows, columns)
    n_columns = audit.table.shape[1]
    score = _cross_validated(odds, hit, rows, columns, n_columns)
    revisited = np.zeros(audit.table.shape[0], bool)
    revisited[rows] = True
    looked = sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=audit.table.shape)
    learnt = Calibration(
        audit.expected,
        fit_column_map(odds, hit, columns, n_columns),
        revisited,
        looked,
        score,
        hit,
        rows,
        calibration_error(score, hit),
    )
    return replace(audit, calibration=learnt)


def _second_looks(table: Table, given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Zeros that were looked at again: their rows, columns, and whether a one was found."""
    if not isinstance(given, Table) and np.shape(given) == table.shape and not _has_labels(given):
        given = Table(given, table.rows, table.columns)
    second = given if isinstance(given, Table) else as_table(given)
    if not second.is_binary:
        raise DataError("revisits= needs zeros and ones, NaN where nobody looked again.")
    at_row = _places(second.rows, table._row_lookup, "row")
    at_column = _places(second.columns, table._column_lookup, "column")
    found = second.values.toarray()
    first = table.values[at_row][:, at_column].toarray()
    i, j = np.nonzero((first == 0) & ~np.isnan(found))
    return at_row[i], at_column[j], found[i, j] == 1


def _has_labels(given: Any) -> bool:
    return hasattr(given, "columns") or hasattr(given, "index")


def _places(labels: np.ndarray, lookup: dict[Any, int], axis: str) -> np.ndarray:
    """Positions of the labels of revisits in the audited table."""
    for label in labels.tolist():
        if label not in lookup:
            raise DataError(
                f"revisits= has a {axis} labelled {label!r}, which the audited table has not; "
                f"{suggest(label, lookup, f'its {axis}s')}"
            )
    return np.array([lookup[label] for label in labels.tolist()], dtype=int)


def _expected_odds(audit: Audit, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return clipped_logit(audit.expected.at(rows, columns))


def _cross_validated(
    odds: np.ndarray, hit: np.ndarray, rows: np.ndarray, columns: np.ndarray, n_columns: int
) -> np.ndarray:
    """Probabilities of each zero by a map learnt in other rows."""
    distinct, at = np.unique(rows, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(distinct))[at] % _FOLDS
    score = np.empty(len(hit))
    for i in range(_FOLDS):
        inside = fold == i
        learnt = fit_column_map(odds[~inside], hit[~inside], columns[~inside], n_columns)
        score[inside] = learnt(odds[inside], columns[inside])
    return score


def reliability(score: np.ndarray, hit: np.ndarray, n_groups: int = 10) -> Tidy:
    """Mean probability and share of ones in groups of equal size, by probability.

    >>> reliability(np.array([0.1, 0.1, 0.8, 0.8]), np.array([0, 0, 1, 1]), 2)["observed"]
    array([0., 1.])
    """
    order = np.argsort(score, kind="stable")
    groups = [part for part in np.array_split(order, n_groups) if len(part)]
    return Tidy(
        predicted=[float(score[part].mean()) for part in groups],
        observed=[float(np.asarray(hit)[part].mean()) for part in groups],
        cells=[len(part) for part in groups],
    )


def calibration_error(score: np.ndarray, hit: np.ndarray, n_groups: int = 10) -> float:
    """Expected calibration error: mean gap between predicted and observed rates of ten groups."""
    groups = reliability(score, hit, n_groups)
    return float(
        np.average(np.abs(groups["predicted"] - groups["observed"]), weights=groups["cells"])
    )
