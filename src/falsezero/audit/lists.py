"""Lists of single cells: zeros with their probabilities and reasons, and surprising ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from falsezero.audit.cells import mask_at
from falsezero.audit.ones import UNLIKELY, expected_of_ones
from falsezero.data.tidy import Tidy

if TYPE_CHECKING:
    from falsezero.audit.audit import Audit

__all__ = ["list_ones", "list_zeros"]

_EXPLAINED = 1000
"""Cells that are given reasons; those further down a list have none."""


def list_zeros(
    audit: Audit, rows: np.ndarray, columns: np.ndarray, expected: np.ndarray | None = None
) -> Tidy:
    """Some zeros by position: row, column, expected, why; again and present where known."""
    found: dict[str, Any] = {
        "row": audit._row_labels(rows),
        "column": audit.table.columns[columns],
        "expected": audit.expected.at(rows, columns) if expected is None else expected,
        **audit._known_of(rows, columns),
    }
    why = audit._reasons(rows[:_EXPLAINED], columns[:_EXPLAINED])
    return Tidy({**found, "why": why + [""] * (len(rows) - len(why))})


def list_ones(audit: Audit) -> Tidy:
    """Ones expected less than a tenth as often as their column is one, least expected first."""
    judged = None
    if audit.model is not None and audit.is_informative:
        judged = expected_of_ones(audit.model, audit.table)
    if audit.model is None or judged is None:
        return Tidy(row=[], column=[], expected=[], rate=[])
    rows, columns, expected = judged
    rate = audit.model.rates_[columns]
    listed = expected < UNLIKELY * rate
    if audit.certain is not None:
        listed &= ~mask_at(audit.certain, rows, columns)
    at = np.flatnonzero(listed)
    at = at[np.lexsort((columns[at], rows[at], expected[at] / rate[at]))]
    return Tidy(
        row=audit.table.rows[rows[at]],
        column=audit.table.columns[columns[at]],
        expected=expected[at],
        rate=rate[at],
    )
