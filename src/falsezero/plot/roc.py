"""How well probabilities tell true ones from true zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from falsezero.plot._canvas import Display, legend_outside, palette

__all__ = ["RocDisplay"]

_MOST_INSIDE = 4


class RocDisplay(Display):
    """Receiver operating curves of one or several reconstructions against the clean table.

    Parameters
    ----------
    truth : array of 0 and 1
        The clean cells, of any shape.
    scores : dict of str to array
        For each reconstruction, the probability of a one in those cells.

    Examples
    --------
    >>> truth = np.array([0, 0, 1, 1])
    >>> display = RocDisplay(truth, {"restored": [0.1, 0.4, 0.35, 0.8]}).plot()
    >>> display.areas["restored"]
    0.75
    """

    def __init__(self, truth: Any, scores: dict[str, Any]):
        self.truth = np.asarray(truth).ravel()
        self.scores = {name: np.asarray(values).ravel() for name, values in scores.items()}
        self.areas = {
            name: float(roc_auc_score(self.truth, values)) for name, values in self.scores.items()
        }

    @classmethod
    def from_tables(
        cls, truth: Any, *, where: Any = None, ax: Any = None, **reconstructions: Any
    ) -> RocDisplay:
        """Draw the clean table and reconstructions of it; `where` picks the cells to judge."""
        cells = slice(None) if where is None else np.asarray(where, dtype=bool)
        scores = {name: np.asarray(table)[cells] for name, table in reconstructions.items()}
        return cls(np.asarray(truth)[cells], scores).plot(ax)

    def plot(self, ax: Any = None) -> RocDisplay:
        """Draw the curves, best first in the legend."""
        crowd = len(self.scores) > _MOST_INSIDE
        ax = self._begin(ax, (7.4 if crowd else 4.4, 4.2))
        order = sorted(self.scores, key=lambda name: -self.areas[name])
        styles = ["-", "--", "-.", ":"]
        for i, (name, colour) in enumerate(zip(order, palette(len(order)), strict=True)):
            false, true, _ = roc_curve(self.truth, self.scores[name])
            label = f"{name}: area {self.areas[name]:.3f}"
            ax.plot(false, true, styles[i % 4], color=colour, label=label)
        ax.plot([0, 1], [0, 1], color="0.7", lw=1, zorder=0)
        ax.set(xlabel="true zeros taken for ones", ylabel="true ones recovered", aspect="equal")
        ax.set_anchor("W" if crowd else "C")
        ax.spines[["top", "right"]].set_visible(False)
        place = legend_outside(len(self.scores)) if crowd else {"loc": "lower right"}
        ax.legend(frameon=False, fontsize=8, **place)
        return self
