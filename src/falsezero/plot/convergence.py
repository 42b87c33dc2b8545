"""How a fit went, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import COLOURS, Display

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay(Display):
    """What is left to gain at each iteration, on a logarithmic scale, and where each fit ended.

    Parameters
    ----------
    histories : dict of str to list of dict
        One history a fit, as `history_` keeps it.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, random_state=0).fit(table)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, histories: dict[str, list[dict[str, Any]]]):
        self.histories = histories

    @classmethod
    def from_estimator(cls, *models: Any, ax: Any = None, **options: Any) -> ConvergenceDisplay:
        """Draw one fitted model, or several to be compared."""
        names = [type(model).__name__ for model in models]
        if len(set(names)) < len(names):
            names = [f"{name} {i}" for i, name in enumerate(names)]
        histories = {n: m.history_ for n, m in zip(names, models, strict=True)}
        return cls(histories).plot(ax, **options)

    def plot(self, ax: Any = None, against: str = "iteration") -> ConvergenceDisplay:
        """Draw against the "iteration" or the "seconds"."""
        ax = self._begin(ax, (5.5, 3.6))
        for i, (name, history) in enumerate(self.histories.items()):
            objective = np.array([row["objective"] for row in history], dtype=float)
            across = np.arange(1, len(history) + 1)
            if against == "seconds":
                across = np.array([row["seconds"] for row in history], dtype=float)
            best = objective.max()
            left = np.maximum(best - objective, 1e-8 * max(1.0, abs(best)))
            label = f"{name}: {best:,.1f} after {len(history)} iterations".replace("-", "−")
            ax.plot(across, left, color=COLOURS[i % len(COLOURS)], label=label)
        ax.set(yscale="log", xlabel=against, ylabel="objective left to gain")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8)
        return self
