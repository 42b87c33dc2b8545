"""Rows of images, and how far chains agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.experiments import _strips
from falsezero.experiments._report import Report

__all__ = ["N_SHOWN", "agreement", "strip"]

N_SHOWN = 16


def agreement(model: Any) -> str:
    """How far the chains of a fit agree, in a sentence."""
    return (
        f"{model.n_chains} chains: R-hat {model.r_hat_:.2f}, effective sample size "
        f"{model.ess_:.0f} (expected cells)."
    )


def strip(
    report: Report, images: np.ndarray, shape: tuple[int, int], caption: str, *items: str
) -> None:
    """Images in a row, each from white to black over its own range."""
    shown = _strips.own_range(np.asarray(images, dtype=float))
    _strips.strip(report, shown, shape, caption, *items, n_columns=N_SHOWN)
