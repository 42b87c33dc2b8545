"""Rows of small images."""

from __future__ import annotations

import numpy as np

from falsezero.experiments._report import Report
from falsezero.plot import ComponentImagesDisplay

__all__ = ["as_probabilities", "own_range", "strip"]


def own_range(images: np.ndarray) -> np.ndarray:
    """Each image from white to black over its own range; zeros and ones stay what they are.

    >>> own_range(np.array([[1.0, 1.0], [-2.0, 2.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    low, high = images.min(axis=1, keepdims=True), images.max(axis=1, keepdims=True)
    spread = (images - low) / np.maximum(high - low, 1e-12)
    return np.where(high > low, spread, np.clip(images, 0, 1))


def as_probabilities(bases: np.ndarray, name: str) -> np.ndarray:
    """Bases of a method between 0 and 1: those of logistic PCA with zero in the middle.

    A few huge loadings of pixels that are hardly ever on do not set its scale.

    >>> as_probabilities(np.array([[1.0, 4.0]]), "NMF").tolist()
    [[0.25, 1.0]]
    >>> as_probabilities(np.array([[-1.0, 0.0, 1.0]]), "LPCA").tolist()
    [[0.0, 0.5, 1.0]]
    """
    if name == "MB":
        return bases
    if name != "LPCA":
        return bases / np.abs(bases).max(axis=1, keepdims=True)
    top = np.quantile(np.abs(bases), 0.9, axis=1, keepdims=True)
    return np.clip(bases / top / 2 + 0.5, 0, 1)


def strip(
    report: Report,
    images: np.ndarray,
    shape: tuple[int, int],
    caption: str,
    *items: str,
    n_columns: int = 16,
) -> None:
    """Numbered images in rows, white at 0 and black at 1."""
    count = len(images)
    display = ComponentImagesDisplay(
        np.asarray(images, dtype=float).reshape(-1, *shape), np.ones(count), ["content"] * count
    ).plot(n_columns=min(n_columns, count))
    for k, panel in enumerate(display.axes_.flat[:count]):
        panel.set_title(f"{k + 1}", fontsize=8)
    report.figure(display, caption, *items)
