"""The picture of the demo: images before and after corruption, restored, and the components."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from falsezero.data.rounding import percent
from falsezero.plot._canvas import COLOURS, INK, KIND_COLOUR, KIND_WORD

__all__ = ["draw_demo"]

_PAPER, _BLACK = "#ffffff", "#0b2a45"
_GREEN, _PINK, _GREY = COLOURS[2], COLOURS[3], "#d9d9d9"
_CODES = ListedColormap([_PAPER, _BLACK, _GREEN, _PINK, _GREY])
_MEANING = {
    _BLACK: "seen",
    _GREY: "lost",
    _GREEN: "lost, and restored",
    _PINK: "put there by mistake",
}


def draw_demo(
    path: str | os.PathLike[str],
    *,
    clean: np.ndarray,
    spoilt: np.ndarray,
    restored: np.ndarray,
    components: np.ndarray,
    kinds: np.ndarray,
    weights: np.ndarray,
    image_shape: tuple[int, int],
) -> None:
    """Draw a few images (one per row of each table) and all components, and save the picture.

    Parameters
    ----------
    path : path
        A PNG, PDF or SVG file.
    clean, spoilt, restored : arrays of zeros and ones, images x pixels
        The truth, what the model saw, and its answer without the phantom.
    components, kinds, weights : arrays
        Components of the model, what `find_phantoms` says of them, and their mean weights.
    image_shape : tuple of int
        Height and width of an image.
    """
    n_columns = max(len(clean), len(components))
    figure = Figure(figsize=(1.05 * n_columns + 1.9, 6.2), layout="constrained", dpi=130)
    axes = figure.subplots(4, n_columns, squeeze=False)
    lost = (clean == 1) & (spoilt == 0)
    tables = [
        ("the truth", clean),
        ("what was seen:\nsome ones are lost", np.where(lost, 4, spoilt)),
        ("restored: without the\ncomponent of zeros", _judged(restored, clean, spoilt)),
    ]
    for panels, (title, codes) in zip(axes, tables, strict=False):
        _write_beside(panels[0], title)
        for panel, row in zip(panels, codes, strict=False):
            panel.imshow(row.reshape(image_shape), cmap=_CODES, vmin=-0.5, vmax=4.5)
    for panel in axes.flat:
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set(color=_GREY, visible=bool(panel.images))
    _draw_components(axes[3], components, kinds, weights, image_shape)
    figure.suptitle(
        "Which zeros are real? One component makes zeros only: it explains the lost pixels.",
        fontsize=13,
        fontweight="bold",
    )
    patches = [Patch(facecolor=colour, label=meaning) for colour, meaning in _MEANING.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), frameon=False)
    figure.savefig(path)


def _judged(answer: np.ndarray, clean: np.ndarray, spoilt: np.ndarray) -> np.ndarray:
    """Colour codes (`_CODES`) of an answer's decisions about zeros; seen ones stay."""
    codes = spoilt.astype(int)
    codes[(spoilt == 0) & (clean == 1)] = 4
    codes[(spoilt == 0) & (clean == 1) & (answer == 1)] = 2
    codes[(clean == 0) & (answer == 1)] = 3
    return codes


def _draw_components(
    panels: Any, components: np.ndarray, kinds: np.ndarray, weights: np.ndarray, shape: Any
) -> None:
    _write_beside(panels[0], "the components, with\ntheir share of all cells")
    for k, panel in enumerate(panels[: len(components)]):
        panel.imshow(components[k].reshape(shape), cmap=INK, vmin=0, vmax=1)
        is_phantom = kinds[k] != "content"
        word = f"{KIND_WORD[kinds[k]]}\n" if is_phantom else ""
        caption = f"{word}{percent(weights[k])}"
        colour, weight = (KIND_COLOUR[kinds[k]], "bold") if is_phantom else ("black", None)
        panel.set_xlabel(caption, fontsize=9, color=colour, fontweight=weight)
        edge = {"color": colour, "linewidth": 4} if is_phantom else {}
        panel.spines[:].set(visible=True, **edge)


def _write_beside(panel: Any, title: str) -> None:
    panel.set_ylabel(title, rotation=0, ha="right", va="center", fontsize=10, labelpad=8)
