"""What all pictures share: axes, colours, and the length of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

from falsezero.data.plain_text import printable
from falsezero.data.rounding import percent

__all__ = [
    "COLOURS",
    "INK",
    "KIND_COLOUR",
    "KIND_WORD",
    "SURPRISING_ONE",
    "SURPRISING_ZERO",
    "Display",
    "grid_of",
    "kind_note",
    "label_cells",
    "legend_outside",
    "literal",
    "palette",
    "share_of",
    "shorten",
]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

KIND_COLOUR = {"content": "#0072B2", "white": "#D55E00", "black": "#CC79A7"}
KIND_WORD = {"content": "content", "white": "makes zeros only", "black": "makes ones only"}

SURPRISING_ZERO = "#E06C00"
SURPRISING_ONE = "#8E44AD"
"""The colour language of every page and picture: orange for zeros that may be false, purple for
ones that may be, ink for recorded ones."""

INK = LinearSegmentedColormap.from_list("ink", ["#ffffff", "#0b2a45"])
"""Paper to ink: a probability of 0 is white, of 1 nearly black; reads the same in grey."""


def palette(count: int) -> list[Any]:
    """`count` colours: Okabe and Ito's where they suffice, otherwise spread evenly over cividis."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return list(plt.get_cmap("cividis")(np.linspace(0, 0.95, count)))


def grid_of(count: int, most_across: int) -> tuple[int, int]:
    """Rows and columns for `count` panels, with the last row as full as possible.

    >>> grid_of(8, 7), grid_of(3, 7)
    ((2, 4), (1, 3))
    """
    down = -(-count // most_across)
    return down, -(-count // down)


def legend_outside(count: int) -> dict[str, Any]:
    """Where a legend of `count` entries hides nothing: above the axes, or beside them."""
    if count <= 3:
        return {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
    return {"loc": "upper left", "bbox_to_anchor": (1, 1), "borderaxespad": 0}


def share_of(weights: np.ndarray, k: int) -> str:
    """A component's mean weight in words: a percentage only where weights add up to one.

    >>> share_of(np.array([0.25, 0.75]), 0), share_of(np.array([2.0, 6.0]), 0)
    ('weight 25%', 'mean weight 2')
    """
    if abs(float(weights.sum()) - 1) < 1e-3:
        return f"weight {percent(weights[k])}"
    return f"mean weight {weights[k]:.2g}".replace("-", "\N{MINUS SIGN}")


def kind_note(kind: Any, before: str = "\n") -> str:
    """A note on what a noise component makes, for its title; empty for content.

    >>> kind_note("white", ", "), kind_note("content")
    (', makes zeros only', '')
    """
    return "" if kind == "content" else f"{before}{KIND_WORD[str(kind)]}"


def label_cells(panels: Any, rows: Any, columns: Any, max_labels: int) -> None:
    """Label the rows and columns of panels side by side, where they are at most `max_labels`."""
    for panel in panels:
        panel.set(xticks=[], yticks=[])
        if len(columns) <= max_labels:
            names = [shorten(name, 16) for name in columns]
            panel.set_xticks(np.arange(len(columns)), names, rotation=90, fontsize=7)
    if len(rows) <= max_labels:
        names = [shorten(name, 20) for name in rows]
        panels[0].set_yticks(np.arange(len(rows)), names, fontsize=7)
    panels[0].set_ylabel(f"{len(rows)} rows × {len(columns)} columns", fontsize=9)


def shorten(label: Any, length: int = 24) -> str:
    """A label that fits beside a picture; the end is kept, where long labels often differ.

    >>> shorten("Palaeochoerus aurelianensis of Artenay", 16)
    'Palaeochoe…tenay'
    """
    text, head = str(label), 2 * length // 3
    short = text if len(text) <= length else f"{text[:head]}…{text[head + 1 - length :]}"
    return literal(short)


def literal(label: Any) -> str:
    """A label that matplotlib draws literally, without taking dollar signs for mathematics.

    >>> literal("$x^{$")
    '\\\\$x^{\\\\$'
    """
    return printable(str(label)).replace("$", r"\$")


class Display:
    """A picture that is computed once and can be drawn many times, as scikit-learn's displays are.

    After `plot`, `figure_` holds the figure and `ax_` the axes; pictures of several panels divide
    `ax_` into the panels in `axes_`.
    """

    figure_: Any
    ax_: Any
    axes_: Any

    def _begin(self, ax: Any, size: tuple[float, float]) -> Any:
        """Draw on these axes, or on new ones of this size in inches."""
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _begin_panels(
        self, ax: Any, n_rows: int, n_columns: int, size: tuple[float, float], **options: Any
    ) -> np.ndarray:
        """Cut one axes into a grid of panels; `options` go to `subgridspec`."""
        host = self._begin(ax, size)
        place = host.get_subplotspec()
        if place is None:
            raise ValueError("ax= must come from plt.subplots(), to be divided into panels.")
        host.set_axis_off()
        grid = place.subgridspec(n_rows, n_columns, **options)
        panels: np.ndarray = grid.subplots(squeeze=False)
        self.axes_ = panels
        return panels

    def plot(self, ax: Any = None) -> Any:
        """Draw on `ax`, or on a new figure; returns self."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the figure, once it has been saved."""
        plt.close(self.figure_)
