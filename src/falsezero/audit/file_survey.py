"""The rows of one file, audited with what was learnt from all files, and sums over files."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from falsezero.analysis.shard_output import write_parquet
from falsezero.audit.audit import Audit
from falsezero.audit.calibration import Calibration
from falsezero.audit.cells import ZeroSurvey, best_cells, most_surprising
from falsezero.audit.column_map import ColumnMap
from falsezero.audit.doubt import Detection
from falsezero.audit.large import survey_large, weights_above
from falsezero.audit.probabilities import Probabilities
from falsezero.data.blocks import Block
from falsezero.data.row_files import gathered
from falsezero.data.shard_files import LongNames, row_labels
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.inference import tree
from falsezero.models.average.large import CellOdds
from falsezero.models.average.members import Member
from falsezero.models.baselines.margins import Margins

__all__ = ["TOP_ROWS", "FileSurvey", "PartAudit", "Recipe", "join_surveys", "survey_file"]

TOP_ROWS = 1000
"""Rows with the most surprising zeros that are kept of all files together."""


@dataclass(frozen=True, repr=False, eq=False)
class PartAudit(Audit):
    """Some rows of a larger table, audited with what was learnt from all of it.

    Attributes
    ----------
    odds : CellOdds
        Log odds of the cells of these rows.
    first : int
        Position of the first row in the whole table.
    is_trusted : bool
        Whether the trial on the whole table did better than how common each column is.
    """

    odds: Any = None
    first: int = 0
    is_trusted: bool = True

    row_losses = None

    @property
    def is_informative(self) -> bool:
        """What the trial on the whole table said."""
        return self.is_trusted

    @property
    def _cell_odds(self) -> CellOdds:
        return self.odds  # type: ignore[no-any-return]

    @cached_property
    def _survey(self) -> ZeroSurvey:
        known = None if self.order is self.expected else self.order
        return survey_large(self.table, self.odds, known, self.certain, self.first)


class Recipe(NamedTuple):
    """All that is needed to audit some rows, but for what is known of the rows themselves."""

    members: list[Member]
    """Without anything about rows."""
    rates: np.ndarray
    intercept: float
    weights: np.ndarray
    kept: float
    columns: np.ndarray
    """Labels."""
    stated: Detection | None
    """Without the rates of rows."""
    learnt: ColumnMap | None
    """From revisits."""
    is_trusted: bool

    def part(
        self,
        values: sparse.csr_array,
        labels: np.ndarray,
        row_weights: Sequence[np.ndarray],
        row_rates: Any = 1.0,
        certain: Any = None,
        first: int = 0,
    ) -> PartAudit:
        """An audit of some rows: their values, labels and weights, and stated rates of rows."""
        table = Table(values, labels, self.columns)
        members = _members_of_rows(self.members, values, row_weights)
        odds = CellOdds(members, self.rates, self.intercept, self.weights, self.kept)
        expected = Probabilities(
            table,
            lambda rows: _grid(odds, rows),
            lambda rows, columns: expit(odds.at(rows, columns)),
        )
        stated = self.stated
        if stated is not None:
            stated = stated._replace(rows=np.broadcast_to(row_rates, len(labels)))
        known = {"stated": stated, "certain": certain, "calibration": self._calibration(expected)}
        return PartAudit(
            table, expected, odds=odds, first=first, is_trusted=self.is_trusted, **known
        )

    def _calibration(self, expected: Probabilities) -> Calibration | None:
        if self.learnt is None:
            return None
        none = np.empty(0)
        looked = sparse.csr_array(expected.shape, dtype=bool)
        return Calibration(expected, self.learnt, none, looked, none, none, none, np.nan)


def _members_of_rows(
    members: list[Member], values: sparse.csr_array, row_weights: Sequence[np.ndarray]
) -> list[Member]:
    """The members with what they know of some rows: weights, or effects of their totals."""
    weights, found = iter(row_weights), []
    for member in members:
        own = [copy.copy(estimator) for estimator in member.estimators]
        for estimator in own:
            if isinstance(estimator, Margins):
                estimator.row_effects_ = estimator.row_effects_of(np.diff(values.indptr))
            else:
                estimator.row_weights_ = next(weights)
        found.append(Member(member.name, own))
    return found


def _grid(odds: CellOdds, rows: np.ndarray) -> np.ndarray:
    """Probabilities of every cell of some rows."""
    n_columns = len(odds.rates)
    columns = np.tile(np.arange(n_columns), len(rows))
    return np.asarray(expit(odds.at(np.repeat(rows, n_columns), columns))).reshape(-1, n_columns)


class _Sums(NamedTuple):
    """What adds up over files."""

    column_expected: np.ndarray
    column_surprising: np.ndarray
    column_present: np.ndarray
    above: float
    """Estimated number of zeros that contradict a stated rate."""
    zeros: float


class FileSurvey(NamedTuple):
    """What the survey of some files found."""

    cells: tuple[np.ndarray, ...]
    """Rows, columns, `expected`, order and row labels of the best cells, and what is known."""
    sums: _Sums
    rows: dict[str, np.ndarray]
    """The rows with the most surprising zeros, as columns of a table."""


def survey_file(
    recipe: Recipe,
    long: LongNames | None,
    block: Block,
    file: str,
    row_weights: list[Any],
    row_rates: Any,
    certain: Any,
    name: str | None,
) -> FileSurvey:
    """Survey the rows of one file, and write a line for each of them to the file `name`."""
    weights = [gathered([part]) if isinstance(part, str) else part for part in row_weights]
    labels = row_labels(block.rows, file, long)
    part = recipe.part(
        block.with_missing, labels, weights, row_rates, certain, first=block.rows.start
    )
    found = part._survey
    known = part._known_of(found.rows, found.columns).values()
    at = found.rows + block.rows.start
    cells = (at, found.columns, found.expected, found.order, labels[found.rows], *known)
    above = zeros = 0.0
    if part.stated is not None:
        above, zeros = weights_above(part.table, part.odds, part.stated, part.first)
    if name is not None:
        write_parquet(name, dict(part.rows))
    sums = found.column_expected, found.column_surprising, found.column_present
    return FileSurvey(cells, _Sums(*sums, above, zeros), dict(part.top_rows(TOP_ROWS)))


def join_surveys(parts: Sequence[FileSurvey]) -> FileSurvey:
    """The survey of some files from those of each, in their order."""
    rows = {name: np.concatenate([p.rows[name] for p in parts]) for name in parts[0].rows}
    best = most_surprising(Tidy(rows))[:TOP_ROWS]
    return FileSurvey(
        best_cells([part.cells for part in parts]),
        tree.total([part.sums for part in parts]),
        {name: values[best] for name, values in rows.items()},
    )
