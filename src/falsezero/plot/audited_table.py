"""A table with its surprising zeros marked, beside what was expected."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgb
from scipy import sparse

from falsezero.analysis.ordering import order_by_correspondence
from falsezero.data.groups import row_groups
from falsezero.plot._canvas import (
    INK,
    SURPRISING_ONE,
    SURPRISING_ZERO,
    Display,
    label_cells,
    shorten,
)

if TYPE_CHECKING:
    from falsezero.audit import Audit

__all__ = ["AuditedTableDisplay"]

_MOST_ROWS, _MOST_COLUMNS = 400, 200
_UNKNOWN = "#d9d9d9"


class AuditedTableDisplay(Display):
    """The table as recorded with surprising cells in colour, and the expected table.

    Rows and columns are ordered by the first axis of correspondence analysis, which puts similar
    ones side by side. Of a large table, evenly spread rows and the most frequent columns are drawn.

    Parameters
    ----------
    recorded : array of shape (n_rows, n_columns)
        NaN where not observed.
    expected : array of the same shape
    zeros, ones : bool arrays of the same shape
        Which cells are surprising.
    rows, columns : labels
    is_part : bool, default=False
        Whether rows or columns of the table were left out.
    groups : list of (name, number of rows), optional
        Groups of the rows, from top to bottom.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    >>> audit = fz.audit(table, probabilities=fz.EASE(), random_state=0)
    >>> AuditedTableDisplay.from_audit(audit).axes_.shape
    (1, 2)
    """

    def __init__(
        self,
        recorded: Any,
        expected: Any,
        zeros: Any,
        ones: Any,
        rows: Any,
        columns: Any,
        is_part: bool = False,
        groups: list[tuple[str, int]] | None = None,
    ):
        self.recorded = np.asarray(recorded)
        self.expected = np.asarray(expected)
        self.zeros = np.asarray(zeros)
        self.ones = np.asarray(ones)
        self.rows = np.asarray(rows)
        self.columns = np.asarray(columns)
        self.is_part = is_part
        self.groups = groups or []

    @classmethod
    def from_audit(cls, audit: Audit, *, groups: Any = None, ax: Any = None) -> AuditedTableDisplay:
        """Draw an audit; `groups`, one value per row or by row label, keeps groups together."""
        whole_shape, audit = audit.table.shape, audit.with_rows(_MOST_ROWS)
        table = audit.table
        rows, columns = _chosen(table)
        known = []
        if groups is not None:
            found = row_groups(groups, table.rows)
            rows = rows[np.argsort(found.codes[rows] % (len(found.names) + 1), kind="stable")]
            names = [*found.names, "no group"]
            known = [(names[code], len(list(same))) for code, same in groupby(found.codes[rows])]
        corner = np.ix_(np.arange(len(rows)), columns)
        zeros, ones = (
            _marked(found, table)[rows].toarray()[corner] for found in (audit.zeros, audit.ones)
        )
        display = cls(
            table.values[rows].toarray()[corner],
            audit.expected.of_rows(rows)[corner],
            zeros > 0,
            ones > 0,
            table.rows[rows],
            table.columns[columns],
            (len(rows), len(columns)) != whole_shape,
            known,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None, max_labels: int = 50) -> AuditedTableDisplay:
        """Draw the two panels; labels where there are at most `max_labels`."""
        high = float(np.clip(0.16 * len(self.recorded), 3.0, 7.0))
        panels = self._begin_panels(ax, 1, 2, (9.6, high + 0.6))[0]
        panels[0].imshow(self._picture(), aspect="auto", interpolation="nearest")
        panels[0].set_title("as recorded; orange: surprising zeros, purple: ones", fontsize=10)
        panels[1].imshow(
            self.expected, cmap=INK, vmin=0, vmax=1, aspect="auto", interpolation="nearest"
        )
        panels[1].set_title("expected, from white (0) to dark (1)", fontsize=10)
        label_cells(panels, self.rows, self.columns, max_labels)
        self._separate(panels)
        return self

    def _separate(self, panels: Any) -> None:
        """Draw lines between groups, and write their names at the right."""
        if not self.groups:
            return
        names, sizes = zip(*self.groups, strict=True)
        ends = np.cumsum(sizes)
        for panel in panels:
            panel.hlines(ends[:-1] - 0.5, *panel.get_xlim(), color="#009e73", linewidth=1.2)
        panels[1].yaxis.tick_right()
        panels[1].set_yticks(
            ends - np.asarray(sizes) / 2 - 0.5, [shorten(name, 20) for name in names], fontsize=8
        )

    def _picture(self) -> np.ndarray:
        picture = np.ones((*self.recorded.shape, 3))
        picture[self.recorded == 1] = INK(0.75)[:3]
        picture[np.isnan(self.recorded)] = to_rgb(_UNKNOWN)
        picture[self.zeros] = to_rgb(SURPRISING_ZERO)
        picture[self.ones] = to_rgb(SURPRISING_ONE)
        return picture


def _chosen(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns to draw, in order."""
    rows, columns = order_by_correspondence(table)
    if len(rows) > _MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)]
    if len(columns) > _MOST_COLUMNS:
        frequent = np.argsort(-table.column_ones, kind="stable")[:_MOST_COLUMNS]
        columns = columns[np.isin(columns, frequent)]
    return rows, columns


def _marked(found: Any, table: Any) -> Any:
    """Listed cells as a sparse mask of the table's shape."""
    rows = [table.row(label) for label in found["row"].tolist()]
    columns = [table.column(label) for label in found["column"].tolist()]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=table.shape)
