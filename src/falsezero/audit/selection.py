"""Lists with their errors controlled, and where to look next."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.audit.audit import Audit
from falsezero.audit.lists import list_zeros
from falsezero.audit.probabilities import Probabilities
from falsezero.data.errors import DataError
from falsezero.data.tidy import Tidy
from falsezero.models.average.large import is_large

__all__ = ["conformal_selection", "plan_looks", "rank_zeros", "select_zeros"]


def conformal_selection(
    score: np.ndarray, calibration_score: np.ndarray, calibration_hit: np.ndarray, fdr: float
) -> np.ndarray:
    """Which cells to select so that, on average, at most a share `fdr` of them are not ones.

    Conformal selection (Jin and Candès, 2023): the p-value of "this cell stays zero" is
    (1 + number of calibration zeros that stayed zero with a score at least as high) / (n + 1), with
    n the number of calibration cells, and Benjamini and Hochberg's procedure selects among them.

    >>> conformal_selection(np.array([0.9, 0.1]), np.linspace(0, 0.8, 50), np.zeros(50, bool), 0.1)
    array([ True, False])
    """
    stayed = np.sort(calibration_score[~calibration_hit.astype(bool)])
    above = len(stayed) - np.searchsorted(stayed, score, side="left")
    p_value = (1 + above) / (len(calibration_score) + 1)
    order = np.argsort(p_value, kind="stable")
    passes = p_value[order] <= fdr * np.arange(1, len(score) + 1) / max(1, len(score))
    chosen = np.zeros(len(score), bool)
    if passes.any():
        chosen[order[: np.flatnonzero(passes)[-1] + 1]] = True
    return chosen


def select_zeros(audit: Audit, fdr: float) -> Tidy:
    """Zeros not looked at again, listed so that at most a share `fdr` of them stays zero."""
    if not 0 < fdr < 1:
        raise DataError(f"fdr={fdr!r} must lie between 0 and 1, as in fdr=0.3.")
    if audit.calibration is None:
        raise DataError(
            "select() needs revisits to control its errors; use the audit that "
            "fz.calibrate(audit, revisits=...) returns."
        )
    assert audit.again is not None
    rows, columns, score = _open_zeros(audit, audit.again)
    learnt = audit.calibration
    chosen = np.flatnonzero(conformal_selection(score, learnt.score, learnt.hit, fdr))
    chosen = chosen[np.argsort(-score[chosen], kind="stable")]
    return Tidy(
        row=audit.table.rows[rows[chosen]],
        column=audit.table.columns[columns[chosen]],
        again=score[chosen],
    )


def rank_zeros(audit: Audit, n: int) -> Tidy:
    """The first `n` zeros in the order of an audit that nobody checked yet, surprising or not."""
    if n < 1:
        raise DataError(f"n={n!r} must be a number of zeros, one or more.")
    rows, columns, score = _open_zeros(audit, audit.order)
    best = np.lexsort((columns, rows, -score))[:n]
    return list_zeros(audit, rows[best], columns[best])


def _open_zeros(
    audit: Audit, probabilities: Probabilities
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Zeros that nobody checked yet, with their probabilities."""
    n_rows, n_columns = audit.table.shape
    if is_large(audit.table.shape):
        raise DataError(
            f"select(), plan() and ranked() look at every zero, too many in a table of {n_rows:,} "
            f"rows and {n_columns:,} columns; audit and calibrate some of its rows, as in "
            "table.select(rows=slice(0, 1000))."
        )
    parts = []
    for rows, p in probabilities.blocks():
        still = audit.table.values[rows].toarray() == 0
        checked = None if audit.calibration is None else audit.calibration.cells
        for known in (audit.certain, checked):
            if known is not None:
                still &= ~known[rows].toarray()
        at, column = np.nonzero(still)
        parts.append((rows[at], column, p[at, column]))
    rows, columns, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, columns, score


def plan_looks(audit: Audit, budget: int, by: str) -> Tidy:
    """Rows, columns or cells to look at next, those with most new finds to expect first."""
    if by not in ("rows", "columns", "cells"):
        raise DataError(f'by={by!r} must be "rows", "columns" or "cells".')
    if budget < 1:
        raise DataError(f"budget={budget!r} must be a number of {by}, one or more.")
    if audit.again is None:
        raise DataError(
            "A plan counts the new finds to expect, and nothing identifies them yet: calibrate "
            "with revisits (fz.calibrate), or state loss= or detection=."
        )
    rows, columns, score = _open_zeros(audit, audit.again)
    if by == "cells":
        best = np.argsort(-score, kind="stable")[:budget]
        where: dict[str, Any] = {
            "row": audit.table.rows[rows[best]],
            "column": audit.table.columns[columns[best]],
        }
        found = score[best]
    else:
        labels = audit.table.rows if by == "rows" else audit.table.columns
        at = rows if by == "rows" else columns
        total = np.bincount(at, score, len(labels))
        best = np.argsort(-total, kind="stable")[:budget]
        zeros = np.bincount(at, minlength=len(labels))[best]
        where, found = {by[:-1]: labels[best], "zeros": zeros}, total[best]
    return Tidy({**where, "new_finds": found, "so_far": np.cumsum(found)})
