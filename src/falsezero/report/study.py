"""What a look inside needs to know: the choice of model, its restarts and its noise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from falsezero.analysis.noise import Phantoms, find_phantoms
from falsezero.analysis.selection import Selection, select
from falsezero.data.table import Table

__all__ = ["Study", "study"]

AS_GOOD = 2e-3
"""Restarts whose objective is within this share of the best count as the same quality."""

NEAR = 1.5
"""A component whose rate is within this factor of the threshold is called undecided."""


@dataclass(frozen=True)
class Study:
    """A table, the model chosen for it, and how far it can be trusted."""

    table: Table
    selection: Selection | None
    restarts: list[Any]
    """Fitted models from different random starts, best first."""
    phantoms: Phantoms

    @property
    def model(self) -> Any:
        """The best of the restarts: the one that everything else is about."""
        return self.restarts[0]

    @property
    def as_good(self) -> list[Any]:
        """Restarts that reached nearly the best objective, the best one included."""
        best = self.model.objective_
        return [m for m in self.restarts if best - m.objective_ <= AS_GOOD * abs(best)]

    @property
    def undecided(self) -> np.ndarray:
        """Components whose being noise depends on where exactly the threshold lies."""
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
    """Choose the number of components, fit from several starts, and question the best fit."""
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
    chosen = clone(model).set_params(n_components=best, verbose=verbose)
    restarts = _restarts(chosen, table, n_init, random_state)
    return Study(table, choice, restarts, find_phantoms(restarts[0]))


def _restarts(model: Any, table: Table, n_init: int, random_state: Any) -> list[Any]:
    """One fit a seed, best first; those that stop early say so by their own flag."""
    fits = []
    seeds = check_random_state(random_state).randint(2**31, size=n_init)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in seeds.tolist():
            fits.append(clone(model).set_params(n_init=1, random_state=seed).fit(table))
    return sorted(fits, key=lambda fit: -fit.objective_)
