"""Matrices as pictures, side by side, with regions framed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from falsezero.plot._canvas import COLOURS, INK, Display

__all__ = ["MatricesDisplay"]

Region = tuple[int, int, int, int]


class MatricesDisplay(Display):
    """Matrices in ink, dark for high values, each with its title.

    Parameters
    ----------
    matrices : dict of title and array
    x_label, y_label : str
    limits : (low, high) or None
        The values drawn white and black; None takes those of each matrix.

    Examples
    --------
    >>> display = MatricesDisplay({"table": np.eye(3)}, "column", "row").plot()
    >>> display.axes_.shape
    (1, 1)
    """

    def __init__(
        self,
        matrices: Mapping[str, Any],
        x_label: str = "",
        y_label: str = "",
        limits: tuple[float, float] | None = None,
    ):
        self.matrices = {title: np.asarray(m, dtype=float) for title, m in matrices.items()}
        self.x_label = x_label
        self.y_label = y_label
        self.limits = limits

    def plot(self, ax: Any = None, regions: Sequence[Region] = ()) -> MatricesDisplay:
        """Draw every matrix, rows and columns counted from 1.

        `regions` are framed: (first row, row after the last, first column, column after the last)
        as indices from 0.
        """
        from matplotlib.patheffects import Normal, Stroke

        count = len(self.matrices)
        panels = self._begin_panels(ax, 1, count, (4.4 * count, 4.0))
        for panel, (title, matrix) in zip(panels.flat, self.matrices.items(), strict=True):
            low, high = self.limits or (float(matrix.min()), float(matrix.max()))
            n_rows, n_columns = matrix.shape
            edges = (0.5, n_columns + 0.5, n_rows + 0.5, 0.5)
            panel.imshow(
                matrix, cmap=INK, vmin=low, vmax=high, aspect="auto", interpolation="nearest",
                extent=edges,
            )  # fmt: skip
            panel.set(xlabel=self.x_label, ylabel=self.y_label)
            panel.set_title(title, fontsize=9)
            for i, (top, bottom, left, right) in enumerate(regions):
                corners = ([left, right, right, left, left], [top, top, bottom, bottom, top])
                colour = COLOURS[i % len(COLOURS)]
                (frame,) = panel.plot(
                    *(np.add(side, 0.5) for side in corners), color=colour, lw=1.6
                )
                # A white rim, so that a frame shows on dark cells too.
                frame.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
        return self
