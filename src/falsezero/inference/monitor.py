"""The stopping rule of a fit, and its history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Listener = Callable[[dict[str, Any]], bool | None]


class Monitor:
    """Keep the history of a fit and decide when its objective has settled.

    It has settled when, over the last `window` iterations, the objective gained less than
    ``tol * |objective|`` per iteration. The window spans an accelerator's whole cycle, so that
    plain and accelerated fits are judged alike.

    Parameters
    ----------
    max_iter : int
        Give up after this many iterations.
    tol : float
        Relative gain per iteration below which the fit has converged.
    listeners : sequence of callable
        Each is called with every new row of the history; one that returns True stops the fit.

    Examples
    --------
    >>> monitor = Monitor(max_iter=100, tol=1e-3)
    >>> for objective in [-90.0, -40.0, -30.0, -29.99, -29.98, -29.97]:
    ...     monitor.record(objective, seconds=0.0, what="step")
    >>> monitor.converged
    True
    """

    window = 3

    def __init__(self, *, max_iter: int, tol: float, listeners: tuple[Listener, ...] = ()):
        self.max_iter = max_iter
        self.tol = tol
        self.history: list[dict[str, Any]] = []
        self.converged = False
        self.stopped = False
        self.n_iter = 0
        self._listeners = listeners
        self._since_rebase: list[float] = []

    @property
    def finished(self) -> bool:
        """Whether the fit is over."""
        return self.converged or self.stopped or self.n_iter >= self.max_iter

    def record(self, objective: float, seconds: float, what: str, rebased: bool = False) -> None:
        """Add a row to the history and check whether the objective has settled."""
        if not np.isfinite(objective):
            raise FloatingPointError(
                f"The objective became {objective} at iteration {self.n_iter + 1}; "
                "please report this table, it should not happen."
            )
        self.n_iter += what != "final"
        row = {
            "iteration": self.n_iter,
            "objective": objective,
            "seconds": seconds,
            "what": what,
            "rebased": rebased,
        }
        self.history.append(row)
        self._judge(objective, rebased)
        for listener in self._listeners:
            self.stopped |= bool(listener(row))

    def resume(self, history: list[dict[str, Any]]) -> None:
        """Continue a history that was saved in a checkpoint."""
        for row in history:
            self.history.append(row)
            self.n_iter = row["iteration"]
            self._judge(row["objective"], row["rebased"])

    def _judge(self, objective: float, rebased: bool) -> None:
        if rebased:
            self._since_rebase.clear()
        seen = self._since_rebase
        seen.append(objective)
        if len(seen) > self.window:
            gain = (seen[-1] - seen[-1 - self.window]) / self.window
            self.converged |= bool(gain <= self.tol * max(abs(objective), 1e-12))
