"""Rows with three components as dots in a triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.ordering import ternary_coordinates
from falsezero.data.validate import labels_of
from falsezero.plot._canvas import Display, palette, shorten

__all__ = ["TernaryDisplay"]

_CORNERS = ternary_coordinates(np.eye(3))


class TernaryDisplay(Display):
    """Each row as a dot in a triangle: the nearer to a corner, the more of that component.

    Parameters
    ----------
    weights : array of shape (n_rows, 3)
        Rows add up to one.
    rows : labels of the rows
    groups : array of shape (n_rows,), optional
        What is known of the rows; gives colours and markers.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(30, 20, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, random_state=0).fit(table)
    >>> TernaryDisplay.from_estimator(model, table).coordinates.shape
    (30, 2)
    """

    def __init__(self, weights: Any, rows: Any, groups: Any = None):
        self.weights = np.asarray(weights, dtype=float)
        self.coordinates = ternary_coordinates(self.weights)
        self.rows = np.asarray(rows)
        self.groups = None if groups is None else np.asarray(groups).astype(str)

    @classmethod
    def from_estimator(
        cls, model: Any, table: Any, groups: Any = None, *, ax: Any = None, **options: Any
    ) -> TernaryDisplay:
        """Draw a fitted model of three components and its table."""
        weights = np.concatenate([weights for _, weights in model.weights_by_block(table)])
        return cls(weights, labels_of(model, table)[0], groups).plot(ax, **options)

    def plot(self, ax: Any = None, max_labels: int = 40) -> TernaryDisplay:
        """Draw the triangle; names beside the dots where there are at most `max_labels`."""
        ax = self._begin(ax, (5.2, 4.8))
        ring = np.vstack([_CORNERS, _CORNERS[:1]])
        ax.plot(*ring.T, color="0.4", lw=1)
        for k, (corner, at) in enumerate(zip(_CORNERS, ((0, -1), (0, -1), (0, 1)), strict=True)):
            ax.annotate(f"component {k + 1}", corner, (10 * at[0], 14 * at[1]), ha="center",
                        va="center", textcoords="offset points", fontsize=9)  # fmt: skip
        groups = np.full(len(self.rows), "") if self.groups is None else self.groups
        names = np.unique(groups)
        for i, (name, colour) in enumerate(zip(names, palette(len(names)), strict=True)):
            dots = self.coordinates[groups == name]
            marker = "osD^vP*X"[i % 8]
            ax.scatter(*dots.T, s=36, color=colour, marker=marker, alpha=0.8, label=name or None)
        if len(self.rows) <= max_labels:
            self._name_dots(ax)
        if self.groups is not None:
            ax.legend(frameon=False, fontsize=8, loc="upper left")
        ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.1, 0.98))
        ax.set_axis_off()
        return self

    def _name_dots(self, ax: Any) -> None:
        """Names of rows at the same place are stacked away from the edge, not over each other."""
        taken: dict[tuple[int, int], int] = {}
        for n in np.argsort(-self.coordinates[:, 1], kind="stable"):
            x, y = self.coordinates[n]
            place = (round(8 * x), round(20 * y))
            height = taken.get(place, 0)
            taken[place] = height + 1
            up = 8 if y < 0.3 else -8
            offset = (6, 4 + up * height)
            name = shorten(self.rows[n], 14)
            ax.annotate(name, (x, y), offset, textcoords="offset points", fontsize=7)
