"""The course of a fit, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import COLOURS, Display, legend_outside

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay(Display):
    """Distance from the final objective at each iteration, on a logarithmic scale.

    For sampled models, the log probability of every draw, one line per chain.

    Parameters
    ----------
    histories : dict of str to list of dict
        The `history_` of each fit, by name.

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
        # Draws of a chain keep going up and down, so they are drawn as they are.
        sampled = any("chain" in history[0] for history in self.histories.values())
        for i, (name, history) in enumerate(self.histories.items()):
            objective = np.array([row["objective"] for row in history], dtype=float)
            best = objective.max()
            left = np.maximum(best - objective, 1e-8 * max(1.0, abs(best)))
            chain = np.array([row.get("chain", 0) for row in history])
            for number in np.unique(chain):
                path = np.flatnonzero(chain == number)
                across = np.arange(1, len(path) + 1)
                if against == "seconds":
                    across = np.array([history[j]["seconds"] for j in path], dtype=float)
                label = _label(name, history, best) if number == chain[0] else None
                height = (objective if sampled else left)[path]
                ax.plot(across, height, color=COLOURS[i % len(COLOURS)], label=label, lw=1.2)
        label = "log probability of a draw" if sampled else "objective left to gain"
        ax.set(yscale="linear" if sampled else "log", xlabel=against, ylabel=label)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8, **legend_outside(1))
        return self


def _label(name: str, history: list[dict[str, Any]], best: float) -> str:
    """Final objective and number of iterations."""
    iterations = history[-1]["iteration"]
    if "chain" in history[-1]:
        n_chains = len({row["chain"] for row in history})
        return f"{name}: {n_chains} chain{'s' * (n_chains > 1)} of {iterations} iterations"
    return f"{name}: {best:,.1f} after {iterations} iterations".replace("-", "\N{MINUS SIGN}")
