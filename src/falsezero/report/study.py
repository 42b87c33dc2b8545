"""One model of a table, for a look inside: its choice, its restarts and its noise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from falsezero.analysis.noise import Phantoms, find_phantoms
from falsezero.analysis.selection import Selection, select
from falsezero.data.table import Table

__all__ = ["Study", "study"]

AS_GOOD = 2e-3
"""Starts within this fraction of the best objective count as equally good."""

NEAR = 1.5
"""A component whose rate is within this factor of the threshold is undecided."""


@dataclass(frozen=True)
class Study:
    """A table, the model chosen for it, and how far it can be trusted."""

    table: Table
    selection: Selection | None
    model: Any
    """The best of several random starts, the same as `falsezero fit` would save."""
    objectives: list[float]
    """Final objective of each random start, best first."""
    phantoms: Phantoms

    @property
    def as_good(self) -> list[float]:
        """Objectives of the starts that are about as good as the best, including it."""
        best = self.objectives[0]
        return [found for found in self.objectives if best - found <= AS_GOOD * abs(best)]

    @property
    def undecided(self) -> np.ndarray:
        """Components that a slightly different threshold would classify differently."""
        found = self.phantoms
        near = np.zeros(len(found.kinds), dtype=bool)
        for rate in (found.one_rate, found.zero_rate):
            near |= (rate > found.threshold / NEAR) & (rate < found.threshold * NEAR)
        return np.flatnonzero(near)


def study(
    table: Table,
    model: Any,
    *,
    n_components: list[int],
    criterion: str,
    n_init: int,
    random_state: Any,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Study:
    """Choose the number of components, fit from several starts, and examine the best fit."""
    choice = None
    if len(n_components) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            choice = select(
                model,
                table,
                n_components,
                criterion,
                random_state=random_state,
                n_jobs=n_jobs,
                verbose=verbose,
            )
    best = n_components[0] if choice is None else choice.best
    chosen = clone(model).set_params(
        n_components=best, n_init=n_init, random_state=random_state, verbose=verbose
    )
    fitted, objectives = _best_start(chosen, table)
    return Study(table, choice, fitted, objectives, find_phantoms(fitted))


def _best_start(model: Any, table: Table) -> tuple[Any, list[float]]:
    """The fit, and the objective at the end of each of its random starts, best first."""
    ends: list[float] = []

    def listen(row: dict[str, Any]) -> None:
        if row["what"] == "final":
            ends.append(row["objective"])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(callback=listen).fit(table).set_params(callback=None)
    return model, sorted(ends, reverse=True)
