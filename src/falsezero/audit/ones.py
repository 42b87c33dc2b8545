"""Ones that are unexpected given the rest of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from falsezero.base.scorer import CellScorer
from falsezero.data.table import Table
from falsezero.models.average.average import StackedAverage
from falsezero.models.average.members import expected_rows
from falsezero.models.average.stacking import clipped_logit, learn

__all__ = ["UNLIKELY", "expected_of_ones"]

UNLIKELY = 0.1
"""A one is surprising where it was expected less than a tenth as often as its column is one."""


def expected_of_ones(model: StackedAverage, table: Table) -> tuple[Any, Any, np.ndarray] | None:
    """Rows, columns and `expected` of all ones, each judged without itself.

    A factor model has seen the one that it judges. EASE, neighbours and Beals score a cell from
    others only, so they alone are stacked here, with weights learnt from the same trials.
    """
    blind = [i for i, member in enumerate(model.members_) if _is_blind(member)]
    if not blind or sum(draw.hidden.sum() for draw in model.draws_) < 10:
        return None
    which = [*blind, len(model.members_)]
    stack = learn(model.draws_, model.ridge, which=which)
    values, kept = table.values, 1 - model.share
    row_of = np.repeat(np.arange(table.shape[0]), np.diff(values.indptr))
    is_one = values.data == 1
    rows, columns = row_of[is_one], values.indices[is_one]
    odds = np.full(len(rows), stack.intercept)
    odds += stack.weights[-1] * clipped_logit(kept * model.rates_)[columns]
    step = max(1, (1 << 20) // table.shape[1])
    for start in range(0, table.shape[0], step):
        some = np.arange(start, min(start + step, table.shape[0]))
        first, last = np.searchsorted(rows, [some[0], some[-1] + 1])
        at = rows[first:last] - start, columns[first:last]
        for weight, i in zip(stack.weights, blind, strict=False):
            expected = expected_rows(model.members_[i], values, some, known=True)
            odds[first:last] += weight * clipped_logit(kept * expected[at])
    return rows, columns, expit(odds)


def _is_blind(member: Any) -> bool:
    """Whether all estimators of a member score a cell without its own value."""
    return all(isinstance(e, CellScorer) and e.judges_without_itself for e in member.estimators)
