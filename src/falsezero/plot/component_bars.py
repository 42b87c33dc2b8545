"""What a component is about: its strongest columns, as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import KIND_COLOUR, grid_of, kind_note, share_of, shorten
from falsezero.plot._components import ComponentsDisplay

__all__ = ["ComponentBarsDisplay"]


class ComponentBarsDisplay(ComponentsDisplay):
    """The columns that each component makes most often, one panel per component.

    Parameters
    ----------
    components : array of shape (n_components, n_columns)
    columns : labels of the columns
    kinds : array of str
        "content", "white" or "black".
    weights : array of shape (n_components,), optional
        Mean weight of each component; equal by default.
    meaning : str
        Meaning of the numbers, for the axis.
    limits : (low, high)
        Their range.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, random_state=0).fit(table)
    >>> display = ComponentBarsDisplay.from_estimator(model, table, n=5)
    >>> display.axes_.shape
    (1, 3)
    """

    def _best_columns(self, k: int) -> np.ndarray:
        """Columns by strength; ties (to a hundredth) by how seldom other components make them.

        That is the order of their Bayes factors.
        """
        size = np.abs(self.components)
        others = np.delete(self.weights, k) @ np.delete(size, k, axis=0)
        digits = 2 if self.limits == (0.0, 1.0) else 6
        return np.lexsort((others, -size[k].round(digits)))

    def plot(self, ax: Any = None, n: int = 10, n_columns: int = 4) -> ComponentBarsDisplay:
        """Draw the `n` columns of each component, `n_columns` panels side by side."""
        count, n = len(self.components), min(n, self.components.shape[1])
        down, across = grid_of(count, n_columns)
        size = (2.9 * across, down * (0.65 + 0.2 * n))
        panels = self._begin_panels(ax, down, across, size)
        for panel in panels.flat[count:]:
            panel.set_axis_off()
        for k, panel in enumerate(panels.flat[:count]):
            kind = str(self.kinds[k])
            best = self._best_columns(k)[:n]
            panel.barh(np.arange(n), self.components[k, best], color=KIND_COLOUR[kind])
            names = [shorten(name, 18) for name in self.columns[best]]
            panel.set_yticks(np.arange(n), names, fontsize=8)
            panel.set(xlim=self.limits, ylim=(n - 0.4, -0.6))
            panel.spines[["top", "right"]].set_visible(False)
            title = f"component {k + 1}, {share_of(self.weights, k)}{kind_note(kind)}"
            panel.set_title(title, fontsize=9)
        self.figure_.supxlabel(self.meaning, fontsize=9)
        return self
