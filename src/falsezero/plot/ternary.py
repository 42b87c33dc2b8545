"""Rows with three components as dots in a triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.ordering import ternary_coordinates
from falsezero.data.validate import labels_of
from falsezero.plot._canvas import Display, palette, shorten

__all__ = ["TernaryDisplay"]

_CORNERS = ternary_coordinates(np.eye(3))
_UP = (-1, -1, 1)
"""Whether a corner's label is above (1) or below (-1) it."""

_LETTER, _LINE = 4.0, 8.0
"""Width of a letter and height of a line, in points."""

_PLACES = [(side, line) for line in (0, 1, -1, 2, -2, 3, -3, 4) for side in (1, -1)]
"""Candidate positions of a label: right or left of its dot, and lines above it."""


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
        """Draw the triangle; at most `max_labels` dots are labelled, where there is room."""
        ax = self._begin(ax, (5.2 if self.groups is None else 7.2, 4.8))
        ring = np.vstack([_CORNERS, _CORNERS[:1]])
        ax.plot(*ring.T, color="0.4", lw=1)
        for k, (corner, up) in enumerate(zip(_CORNERS, _UP, strict=True)):
            ax.annotate(f"component {k + 1}", corner, (0, 14 * up), ha="center",
                        va="center", textcoords="offset points", fontsize=9)  # fmt: skip
        groups = np.full(len(self.rows), "") if self.groups is None else self.groups
        names = np.unique(groups)
        for i, (name, colour) in enumerate(zip(names, palette(len(names)), strict=True)):
            dots = self.coordinates[groups == name]
            marker = "osD^vP*X"[i % 8]
            ax.scatter(
                *dots.T, s=36, color=colour, marker=marker, alpha=0.8, label=shorten(name) or None
            )
        if self.groups is not None:
            ax.legend(frameon=False, fontsize=8, loc="upper right")
        right = 1.12 if self.groups is None else 1.7
        ax.set(aspect="equal", xlim=(-0.12, right), ylim=(-0.1, 0.98))
        ax.set_axis_off()
        if len(self.rows) <= max_labels:
            self._name_dots(ax)
        return self

    def _name_dots(self, ax: Any) -> None:
        """Label each dot where its label overlaps no other; labels without room are left out."""
        self.figure_.draw_without_rendering()  # settles where the triangle is
        dots = ax.transData.transform(self.coordinates) * 72 / self.figure_.dpi
        corners = ax.transData.transform(_CORNERS) * 72 / self.figure_.dpi
        taken = [
            (x - 40, x + 40, y + 14 * up + line)
            for (x, y), up in zip(corners, _UP, strict=True)
            for line in (-8, 2)
        ]
        for n in np.argsort(-self.coordinates[:, 1], kind="stable"):
            name, (x, y) = shorten(self.rows[n], 14), dots[n]
            width = _LETTER * len(name)
            for side, line in _PLACES:
                left, low = x + (6 if side > 0 else -6 - width), y - 2 + _LINE * line
                if all(
                    abs(low - at) > _LINE - 0.5 or left >= stop or left + width <= start
                    for start, stop, at in taken
                ):
                    taken.append((left, left + width, low))
                    ax.annotate(name, self.coordinates[n], (6 * side, -2 + _LINE * line),
                                textcoords="offset points", fontsize=7,
                                ha="left" if side > 0 else "right")  # fmt: skip
                    break
