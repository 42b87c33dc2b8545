"""Which zeros of a table are surprising, and how reliably they can be found in this table."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.analysis.phantom_test import PhantomTest, phantom_test
from falsezero.audit.cells import ZeroSurvey, how_many, mask_at, most_surprising, survey_cells
from falsezero.audit.doubt import (
    Detection,
    most_content,
    present_given_zero,
    row_detection,
)
from falsezero.audit.large import share_above, survey_large
from falsezero.audit.lists import list_ones, list_zeros
from falsezero.audit.probabilities import Probabilities
from falsezero.audit.trial import Trial
from falsezero.audit.why import Reasons
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.models.average.average import StackedAverage
from falsezero.models.average.large import CellOdds

__all__ = ["Audit"]

_TESTED_CELLS = 500_000
"""Cells up to which a table is tested for row-wise losses."""

_UNIDENTIFIED = (
    "One look per cell gives the order of the zeros, not how many are false: for that, state a "
    "loss rate (loss=), detection rates (detection=), or calibrate with revisits (fz.calibrate)."
)


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """The answer to "which zeros are real?", as tables.

    Attributes
    ----------
    table : Table
        What was audited.
    model : StackedAverage or None
        The average behind it; None where probabilities were handed in.
    trial : Trial or None
        The test on hidden finds; None where probabilities were handed in.
    expected : Probabilities
        For every cell, how often a look at a cell like it records a one. ``expected[rows]`` gives
        some rows as a Table.
    stated : Detection or None
        Stated rates, where there are any.
    calibration : Calibration or None
        What was learnt from revisits, after `calibrate`.
    """

    table: Table
    expected: Probabilities
    model: StackedAverage | None = None
    trial: Trial | None = None
    stated: Detection | None = None
    certain: sparse.csr_array | None = field(default=None)
    calibration: Any = None

    @cached_property
    def row_losses(self) -> PhantomTest | None:
        """Test of "rows differ in their losses"; None where it was not made.

        It is made where nothing was stated, the trial passed, and the table is of moderate size.
        """
        cells = self.table.shape[0] * self.table.shape[1]
        if self.stated is not None or self.model is None or cells > _TESTED_CELLS:
            return None
        return phantom_test(self.table, random_state=0) if self.is_informative else None

    @cached_property
    def detection(self) -> Detection | None:
        """Detection rates: stated, or of row-wise losses that passed their test; or None."""
        test = self.row_losses
        if self.stated is not None or test is None or not test.found:
            return self.stated
        found = np.asarray((self.table.values == 1).sum(axis=1)).ravel()
        most = np.minimum(test.column_most, most_content(self.table))
        return row_detection(found, test.row_rates, most)

    # -- the three numbers ----------------------------------------------------------------------

    @cached_property
    def present(self) -> Probabilities | None:
        """For every zero, the probability that it is really there; None if not identified."""
        if self.detection is None:
            return None
        detection = self.detection

        def present(rows: np.ndarray) -> np.ndarray:
            p = self.expected.of_rows(rows)
            there = present_given_zero(p, detection.of_rows(rows), detection.most)
            return self._unless_checked(there, rows)

        def of_cells(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            p, d = self.expected.at(rows, columns), detection.of_cells(rows, columns)
            there = present_given_zero(p, d, detection.most[columns])
            return np.where(self._is_checked(rows, columns), 0.0, there)

        return Probabilities(self.table, present, of_cells)

    @cached_property
    def again(self) -> Probabilities | None:
        """For every zero, the probability of a one at the next look; None if not identified."""
        if self.calibration is not None:
            learnt = self.calibration

            def of_cells(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
                p = learnt.of_cells(rows, columns)
                return np.where(self._is_checked(rows, columns), 0.0, p)

            return Probabilities(
                self.table,
                lambda rows: self._unless_checked(learnt.of_rows(rows), rows),
                of_cells,
            )
        if self.detection is None:
            return None
        present, detection = self.present, self.detection
        assert present is not None
        return Probabilities(
            self.table,
            lambda rows: present.of_rows(rows) * detection.of_rows(rows),
            lambda rows, columns: present.at(rows, columns) * detection.of_cells(rows, columns),
        )

    def _unless_checked(self, p: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The same, and nothing where the user is certain of a zero."""
        if self.certain is None:
            return p
        checked = self.certain[rows].toarray() & (self.table.values[rows].toarray() == 0)
        return np.where(checked, 0.0, p)

    def _is_checked(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """Which of some zeros the user is certain of."""
        return False if self.certain is None else mask_at(self.certain, rows, columns)

    @property
    def order(self) -> Probabilities:
        """What orders the zeros: `again` or `present` where known, `expected` otherwise."""
        known = self.again if self.calibration is not None else self.present
        return self.expected if known is None else known

    # -- tables ---------------------------------------------------------------------------------

    @property
    def is_informative(self) -> bool:
        """Whether the trial did better than how common each column is."""
        return self.trial is None or self.trial.beats_popularity

    @cached_property
    def _cell_odds(self) -> CellOdds | None:
        """Log odds cell by cell, where there are too many cells to visit them all."""
        return None if self.model is None else self.model.cell_odds(self.table.shape)

    @cached_property
    def _survey(self) -> ZeroSurvey:
        known = None if self.order is self.expected else self.order
        if self._cell_odds is not None:
            return survey_large(self.table, self._cell_odds, known, self.certain)
        return survey_cells(self.table, self.expected, known, self.certain)

    @cached_property
    def zeros(self) -> Tidy:
        """Surprising zeros, best first: row, column, expected, why; again and present if known."""
        found = self._survey
        if not self.is_informative:
            found = found.without_list()
        return list_zeros(self, found.rows, found.columns, found.expected)

    def ranked(self, n: int) -> Tidy:
        """The `n` zeros that come first in the order, surprising or not; columns as in `zeros`.

        Where the trial found no order better than how common each column is, nor is this one.
        """
        from falsezero.audit.selection import rank_zeros

        return rank_zeros(self, n)

    def _row_labels(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.table.rows[rows])

    def _known_of(self, rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
        """`again` and `present` of listed zeros, where they are known."""
        known = {"again": self.again, "present": self.present}
        return {name: p.at(rows, columns) for name, p in known.items() if p is not None}

    def _reasons(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        reasons = Reasons(self.table)
        return [reasons.why(*cell) for cell in zip(rows, columns, strict=True)]

    @cached_property
    def ones(self) -> Tidy:
        """Ones that are unexpected given the rest of the table, least expected first.

        `expected` is judged from other cells only, and `rate` is the column's share of ones; listed
        are ones expected less than a tenth as often as that.
        """
        return list_ones(self)

    @cached_property
    def rows(self) -> Tidy:
        """One line a row: ones found, ones expected among its zeros, surprising zeros.

        Where `present` is known, `present` counts what is there and was not found, and `complete`
        is the share that was found.
        """
        found = np.asarray((self.table.values == 1).sum(axis=1)).ravel()
        survey = self._survey
        return self._side(
            {"row": self.table.rows, "found": found.astype(int)},
            survey.row_expected,
            survey.row_surprising,
            survey.row_present,
        )

    @cached_property
    def columns(self) -> Tidy:
        """One line a column: as `rows`, with the share of its hidden finds that came back."""
        found, survey = self.table.column_ones, self._survey
        tidy = self._side(
            {"column": self.table.columns, "found": found.astype(int)},
            survey.column_expected,
            survey.column_surprising,
            survey.column_present,
        )
        if self.trial is None:
            return tidy
        hidden = self.trial.hidden_by_column
        blank = np.full(len(hidden), np.nan)
        share = np.divide(self.trial.found_by_column, hidden, out=blank, where=hidden > 0)
        return Tidy({**dict(tidy), "hidden": hidden.astype(int), "came_back": share})

    def with_rows(self, most: int) -> Audit:
        """An audit of rows in memory, for pictures: this one, or evenly spread rows of files."""
        return self

    def top_rows(self, n: int) -> Tidy:
        """The `n` rows with the most surprising zeros."""
        return self.rows.take(most_surprising(self.rows)[:n])

    def _side(
        self,
        columns: dict[str, Any],
        expected: np.ndarray,
        surprising: np.ndarray,
        there: np.ndarray,
    ) -> Tidy:
        columns["expected"] = expected
        columns["surprising"] = surprising if self.is_informative else 0 * surprising
        if self.present is not None and self.calibration is None:
            columns["present"] = there
            columns["complete"] = columns["found"] / np.maximum(columns["found"] + there, 1e-12)
        elif self.calibration is not None:
            columns["again"] = there
        return Tidy(columns)

    # -- words ----------------------------------------------------------------------------------

    @property
    def why_untested(self) -> str:
        """Why there is no trial, where there is none."""
        return "The probabilities were handed in, so nothing could be hidden and tested."

    @cached_property
    def sentences(self) -> list[str]:
        """The answer in a few sentences: the trial, how many zeros, what it rests on."""
        lines = list(self.trial.sentences) if self.trial is not None else [self.why_untested]
        zeros = self.table.shape[0] * self.table.shape[1] - self.table.n_ones - self.table.n_missing
        if not self.is_informative:
            lines.append(f"None of the {zeros:,} zeros is called surprising.")
        else:
            lines.append(how_many(self._survey.n_surprising, zeros))
        return [*lines, *self._level]

    @property
    def sentences_by_weight(self) -> list[str]:
        """`sentences` with the number of surprising zeros first, for a headline."""
        counted = len(self.sentences) - len(self._level) - 1
        lines = self.sentences
        return [lines[counted], *lines[:counted], *lines[counted + 1 :]]

    @property
    def _level(self) -> list[str]:
        """What is known of how many zeros are false."""
        if self.calibration is not None:
            return [self.calibration.sentence]
        if self.detection is None:
            return [_UNIDENTIFIED]
        total = float(np.nansum(self._survey.column_present))
        lines = [f"By {self.detection.source}, about {total:,.0f} zeros are false."]
        share = self._contradicted
        if share > 0.001 and self.stated is not None:
            lines.append(
                f"In {share:.1%} of the zeros a one is expected more often than that allows: the "
                "rate is too low there, or the loss too high."
            )
        return lines

    @cached_property
    def _contradicted(self) -> float:
        """Share of zeros whose `expected` exceeds the stated detection."""
        assert self.detection is not None
        return share_above(self.table, self.expected, self.detection, self._cell_odds)

    @property
    def summary(self) -> str:
        """`sentences` as one text."""
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        rows, columns = self.table.shape
        name = f" of {self.table.name}" if self.table.name else ""
        head = f"Audit{name}: {rows:,} rows × {columns:,} columns, {self.table.n_ones:,} ones"
        lines = [head, *self.sentences]
        if self.zeros:
            lines += ["", repr(self.zeros.head(5))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        return text + (self.zeros.head(10)._repr_html_() if self.zeros else "")

    def plot(self, ax: Any = None) -> Any:
        """Draw the table with its surprising zeros, and what was expected, side by side."""
        from falsezero.plot.audited_table import AuditedTableDisplay

        return AuditedTableDisplay.from_audit(self, ax=ax)

    def to_html(self, path: Any, *, title: str | None = None, groups: Any = None) -> Any:
        """Write the audit as one self-contained page; returns the path of the file.

        Parameters
        ----------
        path : path of the HTML file to write
        title : str, optional
        groups : sequence, dict, Series or path, optional
            A group for each row, such as its age, party or cell type: one value a row, or values by
            row label.
        """
        from falsezero.report.audit_page import write_audit_page

        return write_audit_page(self, path, title=title, groups=groups)

    # -- after calibration ----------------------------------------------------------------------

    def select(self, fdr: float) -> Tidy:
        """Zeros that are worth a second look, with the share of wrong ones controlled.

        Needs revisits: see `falsezero.calibrate`.

        Parameters
        ----------
        fdr : float in (0, 1)
            Largest share, on average, of the listed zeros that stay zeros when looked at again.
        """
        from falsezero.audit.selection import select_zeros

        return select_zeros(self, fdr)

    def plan(self, budget: int, by: str = "rows") -> Tidy:
        """Where to look next: rows, columns or cells with the most new finds to expect.

        Parameters
        ----------
        budget : int
            How many rows, columns or cells can be looked at.
        by : {"rows", "columns", "cells"}
        """
        from falsezero.audit.selection import plan_looks

        return plan_looks(self, budget, by)
