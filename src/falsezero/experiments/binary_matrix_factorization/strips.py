"""Rows of images, and how far chains agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.experiments._report import Report
from falsezero.plot import ComponentImagesDisplay

__all__ = ["N_SHOWN", "agreement", "strip"]

N_SHOWN = 16


def agreement(model: Any) -> str:
    """How far the chains of a fit agree, in a sentence."""
    return (
        f"{model.n_chains} chains: R-hat {model.r_hat_:.2f}, effective sample size "
        f"{model.ess_:.0f} (log densities and features per row and column)."
    )


def scaled(images: np.ndarray) -> np.ndarray:
    """Each image from white to black over its own range; zeros and ones stay what they are.

    >>> scaled(np.array([[1.0, 1.0], [-2.0, 2.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    low, high = images.min(axis=1, keepdims=True), images.max(axis=1, keepdims=True)
    spread = (images - low) / np.maximum(high - low, 1e-12)
    return np.where(high > low, spread, np.clip(images, 0, 1))


def strip(
    report: Report, images: np.ndarray, shape: tuple[int, int], caption: str, *items: str
) -> None:
    """Images in a row."""
    shown = scaled(np.asarray(images, dtype=float))
    kinds = ["content"] * len(shown)
    display = ComponentImagesDisplay(shown.reshape(-1, *shape), shown.mean(axis=1), kinds)
    report.figure(display.plot(n_columns=N_SHOWN), caption, *items)
