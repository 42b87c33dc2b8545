"""The audit of repeated looks: detection is measured, so zeros get probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from falsezero.audit.audit import Audit
from falsezero.audit.cells import ZeroSurvey, survey_cells
from falsezero.audit.checks import checked_cells
from falsezero.audit.doubt import Detection
from falsezero.audit.lists import list_zeros
from falsezero.audit.probabilities import Probabilities
from falsezero.data.errors import DataError
from falsezero.data.look_checks import next_look_variables
from falsezero.data.looks import Looks, as_looks
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.models.convex.looks_average import LooksAverage
from falsezero.models.convex.repeated_looks import RepeatedLooks

__all__ = ["LooksAudit", "audit_looks"]

_MOST_LOOKS = 200


@dataclass(frozen=True, repr=False, eq=False)
class LooksAudit(Audit):
    """The answer to "which zeros are real?" where cells were looked at more than once.

    Attributes
    ----------
    looks : Looks
        What was audited; `table` says which cells any look found.
    measured : LooksAverage or RepeatedLooks
        The models behind it.
    observers : Tidy or None
        Observers by skill, where looks say who made them.
    """

    looks: Any = None
    measured: Any = None
    cells: Any = None
    """`present` and `again` of every cell of `table`, as two arrays."""
    answers: Any = None
    """All that the models say of the cells, draws included; None for observers of one thing."""

    # -- the numbers ------------------------------------------------------------------------------

    @property
    def why_untested(self) -> str:
        """Why there is no trial."""
        return (
            "Detection was measured by looking repeatedly, so no finds had to be hidden to test "
            "the order of the zeros."
        )

    @cached_property
    def present(self) -> Probabilities:
        """For every cell, the probability that it is really there, given all its looks."""
        return Probabilities(self.table, lambda rows: self.cells[0][rows])

    @cached_property
    def again(self) -> Probabilities:
        """For every cell, the probability of a one at the next look (`next_look=` of the audit)."""
        return Probabilities(self.table, lambda rows: self.cells[1][rows])

    @property
    def observers(self) -> Tidy | None:
        """Observers by skill: how often they find what is there, and report what is not."""
        models = getattr(self.measured, "models_", [self.measured])
        return models[0].observers_

    @cached_property
    def _survey(self) -> ZeroSurvey:
        return survey_cells(self.table, self.present, self.present, self.certain)

    @cached_property
    def zeros(self) -> Tidy:
        """Zeros where it is more likely there than not: row, column, again, present, why."""
        return list_zeros(self, self._survey.rows, self._survey.columns)

    @cached_property
    def ones(self) -> Tidy:
        """Ones that are more likely false alarms than not, where false alarms are possible."""
        one = self.table.to_numpy() == 1
        rows, columns = np.nonzero(one & (self.cells[0] < 0.5))
        order = np.argsort(self.cells[0][rows, columns], kind="stable")
        at = (rows[order], columns[order])
        share = np.nanmean(self.table.to_numpy(), axis=0)
        return Tidy(
            row=self.table.rows[at[0]],
            column=self.table.columns[at[1]],
            expected=self.expected.to_numpy()[at],
            present=self.cells[0][at],
            rate=share[at[1]],
        )

    def intervals(self, level: float = 0.9, by: str = "columns") -> Tidy:
        """Intervals for detection and for the number of cells where the thing is there.

        Parameters
        ----------
        level : float in (0, 1), default=0.9
            Probability of the intervals.
        by : {"columns", "rows"}

        Returns
        -------
        Tidy
            ``seen`` counts cells with a one, ``occupied`` cells where the thing is there, seen or
            not, with its interval; by columns, ``detection`` with its own.
        """
        if not self.is_one_table:
            raise DataError("intervals() needs looks at a table, not observers of one thing.")
        return self.measured.intervals(self.looks, level, by, self.answers)  # type: ignore[no-any-return]

    # -- how many more looks ----------------------------------------------------------------------

    def looks_needed(self, doubt: float = 0.05, by: str = "columns") -> Tidy:
        """How many more looks without a one until zeros can be believed.

        Parameters
        ----------
        doubt : float, default=0.05
            A zero is believed where the probability that the thing is there is below.
        by : {"columns", "rows", "cells"}
            For columns and rows, the looks after which the mean over their zeros is below `doubt`.

        Returns
        -------
        Tidy
            With `present` now and `looks_needed`; 200 stands for 200 or more.
        """
        if by not in ("columns", "rows", "cells"):
            raise DataError(f'by={by!r} must be "columns", "rows" or "cells".')
        if not 0 < doubt < 1:
            raise DataError(f"doubt={doubt!r} must lie between 0 and 1, as in doubt=0.05.")
        if not self.is_one_table:
            raise DataError("looks_needed() needs looks at a table, not observers of one thing.")
        rows, columns = np.nonzero(self.table.to_numpy() == 0)
        now = self.cells[0][rows, columns]
        needed = np.full(self._size(by, len(rows)), _MOST_LOOKS)
        for more in range(_MOST_LOOKS, -1, -1):
            later = self._after(more, rows, columns, now)
            mean = self._mean(later, rows, columns, by)
            needed[mean < doubt] = more
        where: dict[str, Any] = {
            "row": self.table.rows[rows],
            "column": self.table.columns[columns],
        }
        if by != "cells":
            where = {by[:-1]: getattr(self.table, by)}
        return Tidy(
            {**where, "present": self._mean(now, rows, columns, by), "looks_needed": needed}
        )

    def _size(self, by: str, n_zeros: int) -> int:
        return {"cells": n_zeros, "rows": self.table.shape[0], "columns": self.table.shape[1]}[by]

    def _mean(self, p: np.ndarray, rows: np.ndarray, columns: np.ndarray, by: str) -> np.ndarray:
        if by == "cells":
            return p
        at, size = (rows, self.table.shape[0]) if by == "rows" else (columns, self.table.shape[1])
        zeros = np.bincount(at, minlength=size)
        return np.bincount(at, p, size) / np.maximum(zeros, 1)

    def _after(
        self, more: int, rows: np.ndarray, columns: np.ndarray, now: np.ndarray
    ) -> np.ndarray:
        """Present after so many more looks without a one."""
        tries = self.looks.counts[1][rows, columns].astype(int)
        missed = self._misses
        last = len(missed) - 1
        ratio = (
            missed[np.minimum(tries + more, last), columns]
            / missed[np.minimum(tries, last), columns]
        )
        return now * ratio / (now * ratio + 1 - now)

    @cached_property
    def _misses(self) -> np.ndarray:
        """Probability of so many misses in a row for each column, mean over the models."""
        most = int(self.looks.counts[1].max()) + _MOST_LOOKS
        models = getattr(self.measured, "models_", [self.measured])
        return np.maximum(np.mean([model.misses(most) for model in models], axis=0), 1e-300)

    def detection_curves(self, n_looks: int = 10) -> Tidy:
        """Probability that what is there is seen at least once on 1, 2, ... looks, by column."""
        seen = 1 - self._misses[1 : n_looks + 1]
        n_columns = self.table.shape[1]
        return Tidy(
            column=np.repeat(self.table.columns, n_looks),
            looks=np.tile(np.arange(1, n_looks + 1), n_columns),
            seen=seen.T.ravel(),
        )

    # -- words ------------------------------------------------------------------------------------

    @cached_property
    def sentences(self) -> list[str]:
        """The answer in a few sentences."""
        ones, tries = self.looks.counts
        zeros = int(((ones == 0) & (tries > 0)).sum())
        listed = len(self.zeros)
        verb = "is" if listed == 1 else "are"
        named = (
            f"In {listed:,} of the {zeros:,} cells without a one it is more likely there than not; "
            f"{'this zero' if listed == 1 else 'these zeros'} {verb} listed."
        )
        if not listed:
            named = (
                f"In none of the {zeros:,} cells without a one is it more likely there than not."
            )
        if not zeros:
            named = "Every cell that was looked at had a one, so there is no zero to doubt."
        return [
            f"Cells were looked at {tries.mean():.3g} times on average; a look finds what is there "
            f"in {float(np.mean(self.measured.detection_)):.0%} of cases (mean over columns).",
            named,
            *self._level,
        ]

    @property
    def _level(self) -> list[str]:
        ones, tries = self.looks.counts
        hidden = float(self.cells[0][(ones == 0) & (tries > 0)].sum()) if self.is_one_table else 0.0
        seen = int((ones > 0).sum())
        if not self.is_one_table:
            return ["Probabilities that a label is wrong rest on the skill of its observer."]
        sentences = [
            f"{seen:,} cells had a one, and about {hidden:,.0f} more{self._range(seen)} are there "
            "although nobody saw them."
        ]
        if int(tries.max()) == 2:
            sentences.append(
                "Two looks say little about how much detection differs between the cells of a "
                "column: `present` rests on it, `again` hardly does."
            )
        return sentences

    def _range(self, seen: int) -> str:
        """Where the number of what nobody saw lies, where there are draws of it."""
        drawn = self.answers.by_columns.sum(axis=1)
        if not len(drawn) or self.measured.false_alarms:
            return ""
        low, high = np.quantile(drawn - seen, (0.05, 0.95))
        return f" (90 %: {low:,.0f} to {high:,.0f})"

    @property
    def is_one_table(self) -> bool:
        """Whether rows x columns were looked at, rather than one thing by many observers."""
        return bool(self.cells[0].shape == self.looks.counts[0].shape)


def single_looks(looks: Any) -> Table | None:
    """The table of looks that nobody repeated; None where there are repeated ones."""
    looks = as_looks(looks)
    if looks.shape[2] == 1 or int(looks.counts[1].max()) > 1:
        return None
    return looks.union()


def audit_looks(
    looks: Any,
    stated: tuple[Any, ...] = (),
    certain: Any = None,
    false_alarms: bool = False,
    next_look: Any = None,
    random_state: Any = None,
    verbose: int = 0,
) -> LooksAudit:
    """Audit repeated looks: see `falsezero.audit`. `stated` is refused, detection is measured.

    Looks of one thing by many, shape (rows, observers, 1), are read as a table of rows and
    observers whose zeros may be misses and whose ones may be false alarms.
    """
    if any(part is not None for part in stated):
        raise DataError(
            "Repeated looks measure detection, so probabilities=, loss= and detection= belong to "
            "tables of single looks; audit looks.union() to use them."
        )
    looks = as_looks(looks)
    if looks.shape[2] == 1 and looks.shape[1] > 1:
        if next_look is not None:
            raise DataError("next_look= needs looks at a table, not observers of one thing.")
        return _audit_observers(looks, random_state)
    next_look_variables(next_look, list(looks.variables), looks.shape[0])
    average = LooksAverage(false_alarms=false_alarms, random_state=random_state, verbose=verbose)
    answers = average.fit(looks).answers(looks, next_look)
    table = looks.union()
    return LooksAudit(
        table,
        Probabilities(table, lambda rows: answers.expected[rows]),
        stated=_measured(average.detection_, len(table)),
        certain=checked_cells(certain, table),
        looks=looks,
        measured=average,
        cells=answers[:2],
        answers=answers,
    )


def _audit_observers(looks: Looks, random_state: Any) -> LooksAudit:
    """Rows judged by several observers: the zeros and ones of each of them."""
    if looks.observers is None:
        looks = looks.with_store(looks.store, observers=looks.looks)
    model = RepeatedLooks(1, false_alarms=True, random_state=random_state, tol=1e-9).fit(looks)
    values = looks.to_numpy()[:, :, 0]
    table = Table(values, looks.rows, looks.looks, looks.name)
    there = np.asarray(model.present(looks))
    skill = model.observers_
    place = {label: i for i, label in enumerate(skill["observer"].tolist())}
    at = [[place[who] for who in row] for row in np.asarray(looks.observers).tolist()]
    hit, alarm = skill["detection"][at], skill["false_alarms"][at]
    again = there * hit + (1 - there) * alarm
    content = model.components_[0, 0]
    expected = content * hit + (1 - content) * alarm
    return LooksAudit(
        table,
        Probabilities(table, lambda rows: expected[rows]),
        stated=_measured(hit.mean(axis=0), len(table)),
        looks=looks,
        measured=model,
        cells=(np.broadcast_to(there, table.shape), again),
    )


def _measured(rates: np.ndarray, n_rows: int) -> Detection:
    source = "detection as measured by repeated looks"
    return Detection(np.ones(n_rows), rates, source, np.ones(len(rates)))
