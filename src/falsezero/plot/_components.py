"""What the pictures of all components and their columns share."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.validate import labels_of
from falsezero.plot._canvas import Display
from falsezero.plot._kinds import kinds_of, meaning_of

__all__ = ["ComponentsDisplay"]


class ComponentsDisplay(Display):
    """Components, the labels of their columns, and what their numbers mean."""

    def __init__(
        self,
        components: Any,
        columns: Any,
        kinds: Any,
        weights: Any = None,
        meaning: str = "probability of a one",
        limits: tuple[float, float] = (0.0, 1.0),
    ):
        self.components = np.asarray(components)
        self.columns = np.asarray(columns)
        self.kinds = np.asarray(kinds)
        count = len(self.components)
        self.weights = np.full(count, 1 / count) if weights is None else np.asarray(weights)
        self.meaning, self.limits = meaning, limits

    @classmethod
    def from_estimator(cls, model: Any, table: Any, *, ax: Any = None, **options: Any) -> Any:
        """Draw a fitted model, with the column labels of its table."""
        columns = labels_of(model, table)[1]
        weights = model.row_weights_.mean(axis=0)
        display = cls(model.components_, columns, kinds_of(model), weights, *meaning_of(model))
        return display.plot(ax, **options)
