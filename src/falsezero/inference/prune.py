"""Remove components that a fit would be better without, one at a time.

Coordinate ascent cannot merge two components that share one cause: each row already fits one of
them well. The objective of a variational fit penalises every component in use, so the remedy is to
remove one, let the fit settle again, and keep the result if the objective rose.
"""

from __future__ import annotations

from typing import Any, Protocol

from falsezero.data.blocks import Blocks
from falsezero.inference.accelerate import squarem
from falsezero.inference.contract import Advance, Fit, Point, Run, Steps
from falsezero.inference.engine import advancer, continued, exhaust
from falsezero.inference.monitor import Monitor


class PrunableSteps(Steps, Protocol):
    """Steps of a model whose components can fall back to their prior."""

    def in_use(self, point: Point) -> list[int]:
        """Components in use, those that explain least first."""

    def without(self, point: Point, component: int) -> Point:
        """The point with one component reset to its prior and its cells shared by the others."""


def prune(
    steps: PrunableSteps, blocks: Blocks, fit: Fit, run: Run, *, max_iter: int, tol: float
) -> Fit:
    """Remove the component whose removal gains most, as long as the objective rises.

    Every removal adds one row to the history.
    """
    advance = advancer(steps, blocks, run)
    while True:
        trials = _trials(steps, advance, fit, max_iter, tol)
        best = max(trials, key=lambda trial: trial.objective, default=fit)
        if not best.objective > fit.objective:
            return fit
        fit = continued(fit, best, "component left out")


def _trials(steps: Any, advance: Advance, fit: Fit, max_iter: int, tol: float) -> list[Fit]:
    point = Point(fit.state, fit.local)
    in_use = steps.in_use(point)
    return [
        exhaust(
            squarem(steps, advance, steps.without(point, component)),
            advance,
            Monitor(max_iter=max_iter, tol=tol),
        )
        for component in (in_use if len(in_use) > 1 else [])
    ]
