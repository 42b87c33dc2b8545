"""All components at once, as a heat map of their strongest columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import INK, kind_note, shorten
from falsezero.plot._components import ComponentsDisplay

__all__ = ["ComponentHeatmapDisplay"]


class ComponentHeatmapDisplay(ComponentsDisplay):
    """Components as rows, columns of the table as columns, grouped by their strongest component.

    Parameters
    ----------
    components, columns, kinds, weights, meaning, limits
        As in `ComponentBarsDisplay`; the weights are not drawn.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, random_state=0).fit(table)
    >>> display = ComponentHeatmapDisplay.from_estimator(model, table, max_columns=12)
    >>> len(display.ax_.get_xticklabels())
    12
    """

    def plot(
        self, ax: Any = None, max_columns: int = 60, keep_order: bool = False
    ) -> ComponentHeatmapDisplay:
        """Draw the `max_columns` columns that some component makes most often.

        They are grouped by their strongest component, or with `keep_order` as they are given.
        """
        shown = self._choose(max_columns)
        shown = np.sort(shown) if keep_order else shown
        count = len(self.components)
        ax = self._begin(ax, (max(4.0, 1.8 + 0.17 * len(shown)), 2.0 + 0.3 * count))
        low, high = self.limits
        image = ax.imshow(self.components[:, shown], cmap=INK, vmin=low, vmax=high, aspect="auto")
        names = [shorten(name, 20) for name in self.columns[shown]]
        ax.set_xticks(np.arange(len(shown)), names, rotation=90, fontsize=7)
        words = [f"{k}{kind_note(kind, ', ')}" for k, kind in enumerate(self.kinds, start=1)]
        ax.set_yticks(np.arange(count), words, fontsize=8)
        ax.set_ylabel("component")
        self.figure_.colorbar(image, ax=ax, label=self.meaning, fraction=0.03, pad=0.01)
        return self

    def _choose(self, max_columns: int) -> np.ndarray:
        """The strongest columns, in the order of their component and falling within it."""
        peak = self.components.max(axis=0)
        best = np.argsort(-peak, kind="stable")[:max_columns]
        return best[np.lexsort((-peak[best], self.components[:, best].argmax(axis=0)))]
