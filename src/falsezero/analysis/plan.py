"""A plan of fits: the same parts of one table for every candidate, each fit with its seed."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from falsezero.analysis.criteria import Convention, Criterion, HiddenPart, RowScores
from falsezero.analysis.noise import find_phantoms
from falsezero.base.capabilities import capabilities_of
from falsezero.base.estimator import spawn_seeds
from falsezero.data.row_files import remove
from falsezero.data.shards import Shards
from falsezero.data.table import Table

__all__ = ["Plan", "Task", "entropy_of", "forget_rows"]


class Task(NamedTuple):
    """One fit: which candidate, which part is hidden (0 where the whole table is fitted)."""

    candidate: int
    part: int


class Plan(NamedTuple):
    """All fits, and the criterion that judges them."""

    table: Table | Shards
    candidates: list[Any]
    names: list[str]
    criterion: Criterion
    n_splits: int
    entropy: int
    convention: Convention = Convention()

    @property
    def meaning(self) -> str:
        """What the numbers mean, with the convention that all candidates share."""
        agreed = self.convention.label
        return f"{self.criterion.label} ({agreed})" if agreed else self.criterion.label

    @property
    def tasks(self) -> list[Task]:
        """All fits, grouped by candidate."""
        parts = self.n_splits if self.criterion.hides_parts else 1
        return [Task(c, p) for c in range(len(self.candidates)) for p in range(parts)]

    def seed(self, candidate: int, part: int) -> int:
        """Seed of a fit: the same whenever and wherever it is run."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(candidate, part))
        return int(sequence.generate_state(1)[0])

    def fitted(self, candidate: int) -> Any:
        """The candidate fitted to the whole table."""
        return self._seeded(candidate, 0).fit(self._table_of(candidate, 0))

    def _table_of(self, candidate: int, part: int) -> Any:
        """The table for one fit; row weights that stay in files have a folder for each fit."""
        if not isinstance(self.table, Shards) or self.table.weights is None:
            return self.table
        return self.table.viewed(weights=f"{self.table.weights}/{candidate}-{part}")

    def evaluate(self, task: Task) -> tuple[dict[str, Any], Any]:
        """Fit and judge: the outcome, and the model where it was fitted to the whole table."""
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = self._seeded(*task)
            table = self._table_of(*task)
            part = HiddenPart(table, task.part, self.n_splits, self.entropy, self.convention)
            outcome = _outcome(self.criterion.evaluate(model, part), model)
        outcome["seconds"] = time.perf_counter() - began
        outcome["converged"] = bool(vars(model).get("converged_", True))
        outcome["phantoms"] = _count_phantoms(model)
        if self.criterion.hides_parts:
            forget_rows(model)
        return outcome, None if self.criterion.hides_parts else model

    def _seeded(self, candidate: int, part: int) -> Any:
        model = clone(self.candidates[candidate])
        if "random_state" in model.get_params():
            model.set_params(random_state=self.seed(candidate, part))
        return model


def forget_rows(model: Any) -> None:
    """Remove the row weights that a fit left in files."""
    for file in vars(model).get("weight_files_", ()):
        remove(file)


def _count_phantoms(model: Any) -> int | None:
    """Number of noise components; None for models that cannot have any."""
    if not capabilities_of(model).cell_has_cause or "components_" not in vars(model):
        return None
    return int((find_phantoms(model).kinds != "content").sum())


def _outcome(score: float | RowScores, model: Any) -> dict[str, Any]:
    """A score in a form that JSON can hold."""
    if isinstance(score, RowScores):
        total, count = score.total.tolist(), score.count.tolist()
        return {"score": score.mean, "total": total, "count": count}
    log_likelihood = vars(model).get("log_likelihood_", float("nan"))
    return {"score": float(score), "log_likelihood": float(log_likelihood)}


def entropy_of(random_state: Any) -> int:
    """The integer from which all seeds of a plan are derived."""
    return int.from_bytes(spawn_seeds(random_state, 1)[0].generate_state(4).tobytes(), "little")
