"""Whether calibrated probabilities come true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from falsezero.data.errors import DataError
from falsezero.plot._canvas import COLOURS, Display

if TYPE_CHECKING:
    from falsezero.audit import Audit

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay(Display):
    """Observed against predicted rates in groups of cells, with standard errors and the diagonal.

    Parameters
    ----------
    predicted, observed : arrays of one rate per group
    cells : array of one number per group
        How many cells each group has.

    Examples
    --------
    >>> display = ReliabilityDisplay([0.1, 0.6], [0.15, 0.55], [40, 40]).plot()
    >>> display.ax_.get_xlabel()
    'predicted probability of a one'
    """

    def __init__(self, predicted: Any, observed: Any, cells: Any):
        self.predicted = np.asarray(predicted, dtype=float)
        self.observed = np.asarray(observed, dtype=float)
        self.cells = np.asarray(cells, dtype=int)

    @classmethod
    def from_audit(cls, audit: Audit, ax: Any = None) -> ReliabilityDisplay:
        """Draw an audit calibrated by `falsezero.calibrate`, cross-validated by rows."""
        if audit.calibration is None:
            raise DataError(
                "The audit is not calibrated; draw the one that fz.calibrate(audit, revisits=...) "
                "returns."
            )
        groups = audit.calibration.reliability
        return cls(groups["predicted"], groups["observed"], groups["cells"]).plot(ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw the groups."""
        ax = self._begin(ax, (4.4, 4.2))
        # Shrunk towards one half, so that a group without ones has an error, too.
        share = (self.observed * self.cells + 0.5) / (self.cells + 1)
        error = np.sqrt(share * (1 - share) / self.cells)
        ax.plot([0, 1], [0, 1], ":", color="#5c6268", lw=1)
        ax.errorbar(self.predicted, self.observed, error, fmt="o", color=COLOURS[0], capsize=3)
        top = min(1.0, 1.1 * float(max(self.predicted.max(), (self.observed + error).max())))
        ax.set(xlim=(0, top), ylim=(0, top))
        ax.set_xlabel("predicted probability of a one")
        ax.set_ylabel("share of ones at the next look")
        ax.spines[["top", "right"]].set_visible(False)
        return self
