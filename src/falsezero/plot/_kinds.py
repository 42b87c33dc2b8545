"""Kinds of a model's components by `find_phantoms`; all content where phantoms do not exist."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.noise import find_phantoms


def kinds_of(model: Any) -> np.ndarray:
    """Kind of each component: "content", "white" or "black"."""
    if model.capabilities.cell_has_cause:
        return find_phantoms(model).kinds
    return np.full(len(model.components_), "content")


def meaning_of(model: Any) -> tuple[str, tuple[float, float]]:
    """Meaning and range of the numbers in a model's components."""
    low, high = float(model.components_.min()), float(model.components_.max())
    if model.capabilities.table == "binary" and low >= 0 and high <= 1:
        return "probability of a one", (0.0, 1.0)
    return "weight in the component", (min(low, 0.0), high if high > max(low, 0.0) else low + 1.0)


def keep_of(kinds: np.ndarray) -> np.ndarray:
    """Initial P(u|k): 0 for phantoms, unless all components are phantoms.

    >>> keep_of(np.array(["white", "content"])), keep_of(np.array(["white"]))
    (array([0., 1.]), array([1.]))
    """
    keep = (np.asarray(kinds) == "content").astype(float)
    return keep if keep.any() else np.ones(len(keep))
