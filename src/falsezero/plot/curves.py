"""Several methods side by side: curves with error bars, bars, and boxes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from falsezero.plot._canvas import Display, legend_outside, palette

__all__ = ["BoxesDisplay", "CurvesDisplay", "GroupedBarsDisplay"]

_MARKERS = "osD^vP*X"
_MOST_INSIDE = 3
"""With more curves than this, a legend inside the axes would cover some of them."""


class CurvesDisplay(Display):
    """A quantity against another, one curve per method, with error bars.

    Parameters
    ----------
    curves : dict of name and (x, y) or (x, y, error)
    x_label, y_label : str

    Examples
    --------
    >>> display = CurvesDisplay({"AB": ([1, 2], [0.5, 0.7], [0.1, 0.1])}, "K", "rate").plot()
    >>> display.ax_.get_xlabel()
    'K'
    """

    def __init__(self, curves: Mapping[str, Any], x_label: str = "", y_label: str = ""):
        self.curves = dict(curves)
        self.x_label = x_label
        self.y_label = y_label

    def plot(
        self, ax: Any = None, dots: Collection[str] = (), *, log_x: bool = False
    ) -> CurvesDisplay:
        """Draw all curves on one pair of axes; those named in `dots` without a line."""
        crowd = len(self.curves) > _MOST_INSIDE
        ax = self._begin(ax, (7.6 if crowd else 5.6, 3.6))
        colours = palette(len(self.curves))
        for i, (name, curve) in enumerate(self.curves.items()):
            x, y, *error = (np.asarray(part, dtype=float) for part in curve)
            style = {"marker": _MARKERS[i % len(_MARKERS)], "ms": 5, "color": colours[i]}
            style["ls"] = "none" if name in dots else "-"
            ax.errorbar(x, y, *error, label=name, capsize=3, lw=1.4, **style)
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        if log_x:
            _scale_by_logarithm(ax)
        elif all(_are_whole(curve[0]) for curve in self.curves.values()):
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        if len(self.curves) > 1:
            ax.legend(
                fontsize=8, frameon=False, **(legend_outside(len(self.curves)) if crowd else {})
            )
        return self


def _scale_by_logarithm(ax: Any) -> None:
    """A logarithmic x axis whose labels are plain numbers, at 1, 2 and 5 of every decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _are_whole(values: Any) -> bool:
    """Whether all numbers are integers, such as numbers of components."""
    numbers = np.asarray(values, dtype=float)
    return bool((numbers == np.round(numbers)).all())


class GroupedBarsDisplay(Display):
    """Several distributions over the same categories, counted from 1, one panel each.

    Parameters
    ----------
    panels : dict of title and heights
    x_label, y_label : str

    Examples
    --------
    >>> len(GroupedBarsDisplay({"ones": [0.2, 0.8], "zeros": [0.9, 0.1]}).plot().axes_.flat)
    2
    """

    def __init__(self, panels: Mapping[str, Any], x_label: str = "", y_label: str = ""):
        self.panels = dict(panels)
        self.x_label = x_label
        self.y_label = y_label

    def plot(self, ax: Any = None) -> GroupedBarsDisplay:
        """Draw the panels side by side, all on one scale."""
        panels = self._begin_panels(ax, 1, len(self.panels), (2.6 * len(self.panels), 2.6))
        top = max(np.max(heights) for heights in self.panels.values())
        for panel, (title, heights) in zip(panels.flat, self.panels.items(), strict=True):
            panel.bar(np.arange(1, len(heights) + 1), heights, color=palette(1)[0])
            panel.xaxis.get_major_locator().set_params(integer=True)
            panel.set(ylim=(0, 1.05 * top), xlabel=self.x_label)
            panel.set_title(title, fontsize=9)
            panel.spines[["top", "right"]].set_visible(False)
        panels.flat[0].set_ylabel(self.y_label)
        return self


class BoxesDisplay(Display):
    """Distributions of one quantity in several groups, as boxes.

    Parameters
    ----------
    groups : dict of name and values
    y_label : str

    Examples
    --------
    >>> BoxesDisplay({"a": [1, 2, 3], "b": [2, 3, 4]}, "age").plot().ax_.get_ylabel()
    'age'
    """

    def __init__(self, groups: Mapping[str, Any], y_label: str = ""):
        self.groups = dict(groups)
        self.y_label = y_label

    def plot(self, ax: Any = None) -> BoxesDisplay:
        """Draw one box per group."""
        ax = self._begin(ax, (1.5 + 0.9 * len(self.groups), 3.4))
        ax.boxplot(list(self.groups.values()), tick_labels=list(self.groups))
        ax.tick_params("x", labelrotation=30, labelsize=8)
        ax.set_ylabel(self.y_label)
        ax.spines[["top", "right"]].set_visible(False)
        return self
