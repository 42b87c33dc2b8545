"""Weights of the components over a covariate, such as the age of a site."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.groups import row_groups
from falsezero.data.validate import labels_of
from falsezero.plot._canvas import KIND_COLOUR, Display, grid_of, kind_note, literal, shorten
from falsezero.plot._kinds import kinds_of

__all__ = ["WeightsByGroupDisplay"]


class WeightsByGroupDisplay(Display):
    """Box plots of each component's row weights, one box per group, one panel per component.

    A covariate of more than `n_bins` different numbers is cut into so many groups of about equal
    size; of fewer, and of text, every value is a group.

    Parameters
    ----------
    weights : array of shape (n_rows, n_components)
    groups : array of shape (n_rows,)
        Group of each row, counted from 0 in the order of `names`; -1 leaves a row out.
    names : list of str
    kinds : array of str
    covariate : str
        What the groups are, for the axis.

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.datasets.make_digits_demo()
    >>> model = fz.AspectBernoulli(4, tol=1e-3, random_state=0).fit(digits.table)
    >>> display = WeightsByGroupDisplay.from_estimator(
    ...     model, digits.table, digits.target.astype(str), covariate="digit")
    >>> len(display.names)
    10
    """

    def __init__(
        self, weights: Any, groups: Any, names: list[str], kinds: Any, covariate: str = "group"
    ):
        self.weights = np.asarray(weights)
        self.groups = np.asarray(groups)
        self.names = list(names)
        self.kinds = np.asarray(kinds)
        self.covariate = covariate

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        table: Any,
        by: Any,
        *,
        n_bins: int = 8,
        covariate: str = "group",
        ax: Any = None,
        **options: Any,
    ) -> WeightsByGroupDisplay:
        """Draw a fitted model, its table and a covariate with one value per row."""
        found = row_groups(by, labels_of(model, table)[0], n_bins=n_bins, option="by")
        weights = np.concatenate([weights for _, weights in model.weights_by_block(table)])
        return cls(weights, *found, kinds_of(model), covariate).plot(ax, **options)

    def plot(self, ax: Any = None, n_columns: int = 3) -> WeightsByGroupDisplay:
        """Draw one panel per component."""
        count = self.weights.shape[1]
        down, across = grid_of(count, n_columns)
        width = max(2.6, 0.9 + 0.28 * len(self.names))
        panels = self._begin_panels(ax, down, across, (width * across, 2.3 * down + 0.5))
        for panel in panels.flat[count:]:
            panel.set_axis_off()
        for k, panel in enumerate(panels.flat[:count]):
            kind = str(self.kinds[k])
            self._boxes(panel, k, KIND_COLOUR[kind])
            panel.set_title(f"component {k + 1}{kind_note(kind, ', ')}", fontsize=9)
            if k % across == 0:
                panel.set_ylabel("weight")
        self.figure_.supxlabel(literal(self.covariate), fontsize=9)
        return self

    def _boxes(self, panel: Any, k: int, colour: str) -> None:
        parts = [self.weights[self.groups == g, k] for g in range(len(self.names))]
        boxes = panel.boxplot(parts, widths=0.65, patch_artist=True, showfliers=False)
        for box in boxes["boxes"]:
            box.set(facecolor=colour, alpha=0.5, edgecolor="k", linewidth=0.7)
        for line in boxes["medians"]:
            line.set(color="k", linewidth=1.5)
        panel.set_xticks(
            np.arange(1, len(parts) + 1),
            [shorten(name, 14) for name in self.names],
            rotation=90,
            fontsize=7,
        )
        if self.weights.min() >= 0 and self.weights.max() <= 1:
            panel.set_ylim(-0.03, 1.03)
        panel.spines[["top", "right"]].set_visible(False)
