"""Running means over the draws of a chain, and traces that do not depend on component order."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.inference.contract import Point


class Posterior:
    """The result of a sampler of Discrete PCA: means over draws, not the last one.

    The order of components may differ between chains but hardly changes within one, so means are
    taken within a chain.
    """

    def __init__(self, steps: Any):
        self.steps = steps
        self.n_draws = 0
        self._components: Any = None
        self._row_weights: Any = 0.0
        self._trace: dict[str, list[Any]] = {"concentration": [], "share": []}
        self.hyper = steps.hyper

    def add(self, point: Point) -> None:
        """Take one draw in."""
        weights = self.steps.row_weights(point.local, point.state)
        self._row_weights += weights
        share = weights / weights.sum(axis=1, keepdims=True)
        self._take(point.state, float(np.square(share).sum(axis=1).mean()), share.mean(axis=0))

    def _take(self, state: Any, concentration: float, share: np.ndarray) -> None:
        """Add the components of a draw, and record what does not depend on their order."""
        self._components = self.steps.add_components(state, self._components)
        self.hyper = state.hyper
        self.n_draws += 1
        self._trace["concentration"].append(concentration)
        self._trace["share"].append(np.sort(share)[::-1])

    @property
    def components(self) -> np.ndarray:
        """Mean of Theta over the draws, words x components."""
        return self._components / self.n_draws

    @property
    def row_weights(self) -> np.ndarray:
        """Mean weights of the rows over the draws."""
        return self._row_weights / self.n_draws

    def trace(self, history: list[dict[str, Any]]) -> dict[str, np.ndarray]:
        """Quantities of each draw that do not depend on the order of the components."""
        log_joint = [row["objective"] for row in history if row["what"] == "draw"]
        # A chain that was stopped during its warm-up reports where it ended.
        log_joint = log_joint or [history[-1]["objective"]]
        kept = {name: np.asarray(values) for name, values in self._trace.items()}
        return {"log_joint": np.asarray(log_joint), **kept}
