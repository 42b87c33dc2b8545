"""The table, its probabilities and its denoised form side by side, ordered by component."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from falsezero.analysis.ordering import by_strongest
from falsezero.data.blocks import UNOBSERVED
from falsezero.data.validate import labels_of
from falsezero.plot._canvas import (
    COLOURS,
    INK,
    SURPRISING_ONE,
    SURPRISING_ZERO,
    Display,
    label_cells,
)
from falsezero.plot._kinds import keep_of, kinds_of

__all__ = ["OrderedTableDisplay"]

_MOST_CELLS = 20_000_000


class OrderedTableDisplay(Display):
    """Data, probability and denoised table side by side, ordered by strongest component.

    In the last panel orange marks zeros that became ones (doubtful zeros), purple marks ones that
    became zeros.

    Parameters
    ----------
    observed : array of shape (n_rows, n_columns)
        NaN where not observed.
    probability : array of the same shape
        Probability of a one without the noise.
    rows, columns : labels
    row_breaks : positions at which the strongest component changes

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(table)
    >>> OrderedTableDisplay.from_estimator(model, table).axes_.shape
    (1, 3)
    """

    def __init__(self, observed: Any, probability: Any, rows: Any, columns: Any, row_breaks: Any):
        self.observed = np.asarray(observed)
        self.probability = np.asarray(probability)
        self.rows = np.asarray(rows)
        self.columns = np.asarray(columns)
        self.row_breaks = np.asarray(row_breaks)

    @classmethod
    def from_estimator(
        cls, model: Any, table: Any, *, keep: Any = None, ax: Any = None, **options: Any
    ) -> OrderedTableDisplay:
        """Draw a fitted model and its table; `keep` as for `denoise`."""
        if model.capabilities.table != "binary":
            raise TypeError(
                f"This picture shows zeros and ones, but {type(model).__name__} was fitted to "
                "other numbers."
            )
        labels = labels_of(model, table)
        if len(labels[0]) * len(labels[1]) > _MOST_CELLS:
            raise ValueError(
                f"A table of {len(labels[0])} x {len(labels[1])} cells is too large for a picture; "
                "draw some of its rows."
            )
        parts = list(model.weights_by_block(table))
        codes = np.concatenate([block.codes for block, _ in parts])
        weights = np.concatenate([part for _, part in parts])
        keep = keep_of(kinds_of(model)) if keep is None else np.asarray(keep, dtype=float)
        kept = model.reweigh(weights, keep)
        overall = keep if keep.ndim == 1 else keep.mean(axis=0)
        rows, columns, groups, _ = by_strongest(kept, model.components_, overall)
        observed = np.where(codes == UNOBSERVED, np.nan, codes)[np.ix_(rows, columns)]
        probability = np.asarray(model._expected(kept[rows]))[:, columns]
        breaks = np.flatnonzero(np.diff(groups)) + 1
        display = cls(observed, probability, labels[0][rows], labels[1][columns], breaks)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, max_labels: int = 50) -> OrderedTableDisplay:
        """Draw the three panels; labels where there are at most `max_labels`."""
        n_rows, n_columns = self.observed.shape
        high = float(np.clip(0.16 * n_rows, 3.0, 7.5))
        wide = float(np.clip(0.16 * n_columns, 2.6, 4.6))
        panels = self._begin_panels(ax, 1, 3, (3 * wide + 1.2, high + 0.8))[0]
        titles = ("as recorded", "probability of a one", "rounded to zeros and ones")
        pictures = (self.observed, self.probability, self._differences())
        for panel, title, picture in zip(panels, titles, pictures, strict=True):
            cmap = INK.with_extremes(bad="#d9d9d9")
            panel.imshow(picture, cmap=cmap, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
            for at in self.row_breaks:
                panel.axhline(at - 0.5, color=COLOURS[4], lw=0.7)
            panel.set_title(title, fontsize=10)
        label_cells(panels, self.rows, self.columns, max_labels)
        panels[2].set_xlabel("orange: zeros that became ones\npurple: the reverse", fontsize=8)
        return self

    def _differences(self) -> np.ndarray:
        """Ink for ones that stay, colours for cells that change."""
        clean = self.probability >= 0.5
        picture = np.ones((*clean.shape, 3))
        picture[clean] = INK(0.75)[:3]
        picture[clean & (self.observed == 0)] = to_rgb(SURPRISING_ZERO)
        picture[~clean & (self.observed == 1)] = to_rgb(SURPRISING_ONE)
        return picture
