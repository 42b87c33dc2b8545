"""How many components the table supports, with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.criteria import CRITERIA
from falsezero.plot._canvas import COLOURS, Display

__all__ = ["ModelChoiceDisplay"]

_MOST_TICKS = 12


def _axis_label(name: str) -> str:
    """What a criterion is and which way is better; a name alone where it is not registered."""
    if name not in CRITERIA:
        return name
    return f"{CRITERIA[name].label}\n({CRITERIA[name].direction} is better)"


class ModelChoiceDisplay(Display):
    """A criterion against the number of components, with standard errors, the choice marked.

    Parameters
    ----------
    n_components : array
    score : array
    se : array or None
        Standard errors; None or NaN where there are none.
    best : int
        The number of components chosen.
    criterion : str
        What the score is called.

    Examples
    --------
    >>> display = ModelChoiceDisplay([2, 3, 4], [-3.0, -2.5, -2.6], [0.1, 0.1, 0.1], best=3)
    >>> display.plot().ax_.get_title()
    'best: 3 components'
    """

    def __init__(
        self, n_components: Any, score: Any, se: Any = None, *, best: int, criterion: str = "score"
    ):
        self.n_components = np.asarray(n_components)
        self.score = np.asarray(score, dtype=float)
        self.se = None if se is None else np.asarray(se, dtype=float)
        self.best = int(best)
        self.criterion = criterion

    @classmethod
    def from_selection(cls, result: Any, *, ax: Any = None) -> ModelChoiceDisplay:
        """Draw what `falsezero.select` returned."""
        table = result.table
        errors = table["standard_error"] if "standard_error" in table.columns else None
        name = result.criterion
        display = cls(table["n_components"], table[name], errors, best=result.best, criterion=name)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> ModelChoiceDisplay:
        """Draw the curve and mark the choice."""
        ax = self._begin(ax, (5.0, 3.4))
        errors = None
        if self.se is not None and np.isfinite(self.se).any():
            errors = np.nan_to_num(self.se)
        ax.errorbar(
            self.n_components, self.score, errors, marker="o", capsize=3, color=COLOURS[0], ms=5
        )
        at = self.n_components == self.best
        ax.plot(self.best, self.score[at][0], "o", ms=13, mfc="none", mec=COLOURS[5], mew=2)
        ax.set_title(f"best: {self.best} component{'s' if self.best != 1 else ''}", fontsize=10)
        ax.set(xlabel="number of components", ylabel=_axis_label(self.criterion))
        if len(self.n_components) <= _MOST_TICKS:
            ax.set_xticks(self.n_components)
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        return self
