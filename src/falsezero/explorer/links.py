"""A model's weights and components in the form that the page computes with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.base.capabilities import capabilities_of
from falsezero.base.links import LINKS

__all__ = ["Factors", "factors_of"]

_SUPPORTED_LINKS = ("convex", "noisy-or", "logistic", "tanh")


class Factors(NamedTuple):
    """Everything the page needs to compute the expected table."""

    link: str
    weights: np.ndarray
    """Rows x components."""
    components: np.ndarray
    """Components x columns."""
    base: np.ndarray
    """The link's offset of each column."""
    trace: np.ndarray
    """Added to a row's weights before they are renormalised; empty where they are not."""


def factors_of(model: Any, weights: np.ndarray) -> Factors:
    """The factors of a fitted model with the link that it declares."""
    declared = capabilities_of(model)
    if declared.table != "binary" or declared.link not in _SUPPORTED_LINKS:
        raise TypeError(
            f"explore shows models of zeros and ones whose components add up, combine by noisy-or "
            f"or pass through a logistic curve; {type(model).__name__} does none of these."
        )
    components = np.asarray(model.components_, dtype=float)
    offset = np.broadcast_to(np.asarray(model._link_offset, dtype=float), components.shape[1])
    compete = LINKS[declared.link].weights_compete
    trace = model._trace_weights if compete else np.zeros(0)
    return Factors(declared.link, weights, components, offset, trace)
