"""The audit of a table in files: what is known of rows stays there, answers are added up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.analysis.shard_output import numbered_files, without_rows, write_parquet
from falsezero.audit.audit import Audit
from falsezero.audit.cells import ZeroSurvey
from falsezero.audit.checks import check_auditable, checked_cells
from falsezero.audit.doubt import stated_detection
from falsezero.audit.file_survey import (
    TOP_ROWS,
    FileSurvey,
    PartAudit,
    Recipe,
    join_surveys,
    survey_file,
)
from falsezero.audit.probabilities import Probabilities
from falsezero.audit.trial import run_trial
from falsezero.audit.why import Reasons
from falsezero.data.blocks import Block
from falsezero.data.errors import DataError
from falsezero.data.row_files import gathered
from falsezero.data.shard_files import LongNames, row_labels
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.models.average.average import StackedAverage
from falsezero.models.average.in_files import TableInFiles, stored_rows
from falsezero.models.average.members import Member
from falsezero.models.baselines.margins import Margins

__all__ = ["ShardsAudit", "audit_shards"]

_COMPARED_ONES = 1_000_000
"""Ones of the rows that reasons are looked for in."""


@dataclass(frozen=True, repr=False, eq=False)
class ShardsAudit(Audit):
    """The answer to "which zeros are real?" for a table in files.

    It answers what an `Audit` of a large table answers, except for `rows`: `top_rows` gives those
    with the most surprising zeros, and `to_parquet` writes a line for every row. `why` compares a
    row with the listed rows and a random sample of the others.

    Attributes
    ----------
    table : TableInFiles
        What was audited.
    """

    row_losses = None

    # -- rows, where they are -------------------------------------------------------------------

    @cached_property
    def _recipe(self) -> Recipe:
        model, stated = self.model, self.stated
        assert model is not None
        members = [Member(m.name, [without_rows(e) for e in m.estimators]) for m in model.members_]
        learnt = None if self.calibration is None else self.calibration.learnt
        return Recipe(
            members,
            model.rates_,
            model.intercept_,
            model.weights_,
            1 - model.share,
            self.table.columns,
            None if stated is None else stated._replace(rows=np.empty(0)),
            learnt,
            self.is_informative,
        )

    @cached_property
    def _row_weights(self) -> list[list[Any]]:
        """Of each file, the row weights of every factor model, or the names of their files."""
        assert self.model is not None
        starts = self.table.shards.starts  # type: ignore[attr-defined]
        estimators = [e for member in self.model.members_ for e in member.estimators]
        stored = [stored_rows(e, starts) for e in estimators if not isinstance(e, Margins)]
        return [list(file) for file in zip(*stored, strict=True)]

    def part(self, rows: np.ndarray) -> PartAudit:
        """An audit in memory of some rows, given by position in ascending order."""
        table: Any = self.table
        take = partial(_take, table.shards.long)
        values, labels, *weights = table.take(rows, take, table.shards.files, self._row_weights)
        rates = 1.0 if self.stated is None else self.stated.rows[rows]
        certain = None if self.certain is None else self.certain[rows]
        return self._recipe.part(values, labels, weights, rates, certain)

    def with_rows(self, most: int) -> Audit:
        """An audit in memory of at most so many rows, evenly spread over the files."""
        n_rows = self.table.shape[0]
        return self.part(np.unique(np.linspace(0, n_rows - 1, most).astype(int)))

    # -- all files ------------------------------------------------------------------------------

    def _surveyed(self, names: Sequence[str | None]) -> FileSurvey:
        table: Any = self.table
        files, starts = table.shards.files, table.shards.starts
        spans = [slice(a, b) for a, b in itertools.pairwise(starts)]
        certain = [None if self.certain is None else self.certain[span] for span in spans]
        (found,) = table.map_files(
            partial(survey_file, self._recipe, table.shards.long),
            files,
            self._row_weights,
            [self._row_rates(span) for span in spans],
            certain,
            names,
            join=join_surveys,
        )
        return found  # type: ignore[no-any-return]

    def _row_rates(self, span: slice) -> Any:
        """Stated rates of the rows of a file; one number where they are all alike."""
        if self.stated is None:
            return 1.0
        rates = self.stated.rows
        return float(rates[0]) if rates.strides == (0,) else rates[span]

    @cached_property
    def _filed(self) -> FileSurvey:
        return self._surveyed([None] * len(self._row_weights))

    @cached_property
    def _survey(self) -> ZeroSurvey:
        (rows, columns, p, order, *_), sums, _ = self._filed
        none = np.empty(0)
        return ZeroSurvey(
            rows, columns, p, order,
            none, sums.column_expected, none, sums.column_surprising, none, sums.column_present,
        )  # fmt: skip

    def _row_labels(self, rows: np.ndarray) -> np.ndarray:
        return self._filed.cells[4][: len(rows)]

    def _known_of(self, rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
        names = [name for name in ("again", "present") if getattr(self, name) is not None]
        parts = self._filed.cells[5:]
        return {name: part[: len(rows)] for name, part in zip(names, parts, strict=True)}

    def _reasons(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        if not len(rows):
            return []
        table: Any = self.table
        n_rows = table.shape[0]
        number = min(n_rows, max(2000, int(n_rows * _COMPARED_ONES / max(1, table.nnz))))
        drawn = np.random.default_rng(0).choice(n_rows, number, replace=False)
        compared = np.union1d(rows, drawn)
        values, labels = table.take(
            compared, partial(_labelled, table.shards.long), table.shards.files
        )
        reasons = Reasons(Table(values, labels, table.columns))
        cells = zip(np.searchsorted(compared, rows), columns, strict=True)
        return [reasons.why(*cell) for cell in cells]

    @property
    def rows(self) -> Tidy:
        """Refused: the rows of a table in files stay in files."""
        raise DataError(
            "An audit of files leaves its rows in files; audit.to_parquet(folder) writes a line "
            f"for each, and audit.top_rows({TOP_ROWS}) gives those with most surprising zeros."
        )

    def top_rows(self, n: int) -> Tidy:
        """The `n` rows with the most surprising zeros, 1000 at most."""
        if n > TOP_ROWS:
            raise DataError(
                f"top_rows({n}) asks for more than the {TOP_ROWS} rows that are kept; "
                "audit.to_parquet(folder) writes all of them."
            )
        return Tidy(self._filed.rows).head(n)

    @cached_property
    def _contradicted(self) -> float:
        return self._filed.sums.above / max(1.0, self._filed.sums.zeros)

    def to_parquet(self, folder: str | PathLike[str]) -> list[str]:
        """Write the audit as Parquet files; returns their names.

        ``zeros.parquet`` has the list of `zeros`, ``columns.parquet`` a line for each column, and
        ``rows-00000.parquet`` and so on a line for each row, one file for each of the table's.
        Within `falsezero.on_dask` the workers write the latter. Every file is surveyed for it; ask
        for `summary` and `zeros` afterwards, and they need no survey of their own.

        Parameters
        ----------
        folder : path or fsspec address
        """
        n_files = len(self.table.shards.files)  # type: ignore[attr-defined]
        names = numbered_files(folder, "rows", n_files)
        self.__dict__["_filed"] = self._surveyed(names)
        address = fspath(folder).rstrip("/")
        for name, table in (("zeros", self.zeros), ("columns", self.columns)):
            write_parquet(f"{address}/{name}.parquet", dict(table))
        return [f"{address}/zeros.parquet", f"{address}/columns.parquet", *names]

    def to_html(self, path: Any, *, title: str | None = None, groups: Any = None) -> Path:
        """Write the audit as one self-contained page; see `Audit.to_html`."""
        if groups is not None:
            raise DataError("groups= needs a value for each row in memory; leave it out for files.")
        return super().to_html(path, title=title)  # type: ignore[no-any-return]


def _take(
    long: LongNames | None, block: Block, at: np.ndarray, file: str, row_weights: list[Any]
) -> tuple[Any, ...]:
    """Values, labels and weights of some rows of a file."""
    stored = [gathered([part]) if isinstance(part, str) else part for part in row_weights]
    return (*_labelled(long, block, at, file), *(weights[at] for weights in stored))


def _labelled(
    long: LongNames | None, block: Block, at: np.ndarray, file: str
) -> tuple[sparse.csr_array, np.ndarray]:
    return block.with_missing[at], row_labels(block.rows, file, long)[at]


def audit_shards(
    table: TableInFiles, loss: Any, detection: Any, certain: Any, random_state: Any, verbose: int
) -> ShardsAudit:
    """Audit a table in files that is too large to visit every cell."""
    check_auditable(table)
    files: Any = table
    rates = stated_detection(files, loss, detection)
    sure = checked_cells(certain, files)
    model = StackedAverage(random_state=random_state, verbose=verbose).fit(table)
    found: ShardsAudit

    def of_rows(rows: np.ndarray) -> np.ndarray:
        distinct, back = np.unique(rows, return_inverse=True)
        return found.part(distinct).expected.of_rows(np.arange(len(distinct)))[back]

    def of_cells(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        distinct, back = np.unique(rows, return_inverse=True)
        return found.part(distinct).expected.at(back, columns)

    expected = Probabilities(files, of_rows, of_cells)
    found = ShardsAudit(files, expected, model, run_trial(model, table.shape), rates, sure)
    return found
