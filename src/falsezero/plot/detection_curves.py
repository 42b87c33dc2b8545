"""How many looks it takes to see what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import Display, palette

__all__ = ["DetectionCurvesDisplay"]

_NAMED = 3


class DetectionCurvesDisplay(Display):
    """Probability that what is there is seen at least once, by the number of looks.

    Parameters
    ----------
    seen : array of shape (n_columns, n_looks)
        That probability for 1, 2, ... looks.
    names : list of str, optional
        Names of the columns; the easiest and the hardest are labelled.

    Examples
    --------
    >>> display = DetectionCurvesDisplay([[0.5, 0.75], [0.1, 0.19]], ["wren", "owl"]).plot()
    >>> display.hardest
    'owl'
    """

    def __init__(self, seen: Any, names: Any = None):
        self.seen = np.atleast_2d(np.asarray(seen, dtype=float))
        self.names = [str(n) for n in (range(len(self.seen)) if names is None else names)]
        self.order = np.argsort(self.seen[:, 0], kind="stable")

    @classmethod
    def from_audit(cls, audit: Any, n_looks: int = 10, ax: Any = None) -> DetectionCurvesDisplay:
        """Draw the curves of an audit of repeated looks."""
        curves = audit.detection_curves(n_looks)
        return cls(curves["seen"].reshape(-1, n_looks), audit.table.columns).plot(ax)

    @property
    def hardest(self) -> str:
        """The column that is seen least easily."""
        return str(self.names[self.order[0]])

    def plot(self, ax: Any = None) -> DetectionCurvesDisplay:
        """Draw one curve per column, the hardest and the easiest with their names."""
        ax = self._begin(ax, (5.6, 3.8))
        looks = np.arange(1, self.seen.shape[1] + 1)
        named = [*self.order[:_NAMED], *self.order[_NAMED:][-_NAMED:]]
        for column in self.order:
            if column not in named:
                ax.plot(looks, self.seen[column], color="0.8", lw=0.8, zorder=1)
        for column, colour in zip(named, palette(len(named)), strict=True):
            ax.plot(looks, self.seen[column], color=colour, label=self.names[column], zorder=2)
        ax.set(xlabel="looks", ylabel="seen at least once, if there", ylim=(0, 1.02))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8, loc="lower right")
        return self
