"""How well each method recovered the hidden finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from falsezero.plot._canvas import COLOURS, Display, shorten

if TYPE_CHECKING:
    from falsezero.audit.trial import Trial

__all__ = ["TrialDisplay"]


class TrialDisplay(Display):
    """Average precision on hidden finds, one bar per method, best first, with standard errors.

    Parameters
    ----------
    methods : list of str
    precision, error : arrays of one number per method
    highlighted : str
        The method drawn in colour: the audit's own.

    Examples
    --------
    >>> display = TrialDisplay(["average", "popularity"], [0.4, 0.2], [0.02, 0.01], "average")
    >>> len(display.plot().ax_.patches)
    2
    """

    def __init__(self, methods: Any, precision: Any, error: Any, highlighted: str):
        self.methods = list(methods)
        self.precision = np.asarray(precision, dtype=float)
        self.error = np.asarray(error, dtype=float)
        self.highlighted = highlighted

    @classmethod
    def from_trial(cls, trial: Trial, *, hidden: str = "cells", ax: Any = None) -> TrialDisplay:
        """Draw the trial of an audit; `hidden` says how finds were hidden: "cells" or "rows"."""
        table = trial.table.take(trial.table["hidden"] == hidden)
        names, precision = table["method"], table["average_precision"]
        return cls(names, precision, table["error"], "average").plot(ax)

    def plot(self, ax: Any = None) -> TrialDisplay:
        """Draw the bars."""
        order = np.argsort(self.precision, kind="stable")
        ax = self._begin(ax, (6.4, 0.26 * len(order) + 0.9))
        names = [shorten(self.methods[i], 36) for i in order]
        colours = [COLOURS[0] if self.methods[i] == self.highlighted else "#b8bec4" for i in order]
        ax.barh(np.arange(len(order)), self.precision[order], color=colours)
        ax.errorbar(
            self.precision[order],
            np.arange(len(order)),
            xerr=self.error[order],
            fmt="none",
            ecolor="#181c20",
            lw=1,
        )
        ax.set_yticks(np.arange(len(order)), names, fontsize=8)
        ax.set_xlabel("average precision on hidden finds, one standard error", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(-0.6, len(order) - 0.4)
        return self
