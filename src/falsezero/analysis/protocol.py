"""Run many fits of one plan: in parallel, remembered in a file, reported as they finish."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from falsezero.analysis.heldout import hide_cells, score_cells, score_rows, split_rows
from falsezero.base.capabilities import capabilities_of
from falsezero.base.estimator import spawn_seeds
from falsezero.data.output import check_target, write_atomically
from falsezero.data.read import as_table
from falsezero.data.table import Table
from falsezero.inference.checkpoint import IDLE, fingerprint_of

CRITERIA = {"aic": -1, "bic": -1, "evidence": 1, "rows": 1, "cells": 1}
"""Known criteria, and the sign that makes larger better."""


class Task(NamedTuple):
    """One fit: which candidate, which fold (0 where the whole table is fitted)."""

    candidate: int
    fold: int


class Plan(NamedTuple):
    """Everything that is to be fitted, and how it is judged."""

    table: Table
    candidates: list[Any]
    names: list[str]
    criterion: str
    n_splits: int
    entropy: int

    @property
    def is_held_out(self) -> bool:
        """Whether the criterion hides part of the table."""
        return self.criterion in ("rows", "cells")

    @property
    def tasks(self) -> list[Task]:
        """All fits, the folds of a candidate side by side."""
        folds = self.n_splits if self.is_held_out else 1
        return [Task(c, f) for c in range(len(self.candidates)) for f in range(folds)]

    def seed(self, candidate: int, fold: int) -> int:
        """Seed of a fit: the same whenever and wherever it is run."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(candidate, fold))
        return int(sequence.generate_state(1)[0])

    def fitted(self, candidate: int) -> Any:
        """The candidate fitted to the whole table."""
        return self._seeded(candidate, 0).fit(self.table)

    def evaluate(self, task: Task) -> tuple[dict[str, Any], Any]:
        """Fit and judge: the outcome, and the model where it was fitted to the whole table."""
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = self._seeded(*task)
            outcome = self._judge(model, task.fold)
        outcome["seconds"] = time.perf_counter() - began
        outcome["converged"] = bool(model.converged_)
        return outcome, None if self.is_held_out else model

    def _seeded(self, candidate: int, fold: int) -> Any:
        model = clone(self.candidates[candidate])
        if "random_state" in model.get_params():
            model.set_params(random_state=self.seed(candidate, fold))
        return model

    def _judge(self, model: Any, fold: int) -> dict[str, Any]:
        if not self.is_held_out:
            model.fit(self.table)
            value = in_sample(model, self.criterion)
            log_likelihood = getattr(model, "log_likelihood_", float("nan"))
            return {"score": value, "log_likelihood": float(log_likelihood)}
        # The same folds for every candidate: differences between candidates are then paired.
        if self.criterion == "cells":
            hidden = hide_cells(self.table, self.n_splits, self.entropy, fold)
            threshold = getattr(model, "binarize", None)
            if threshold is not None:
                hidden = hidden._replace(values=(hidden.values > threshold).astype(float))
            is_binary = threshold is not None or self.table.is_binary
            total, count = score_cells(model, hidden, is_binary)
        else:
            parts = split_rows(self.table, self.n_splits, self.entropy)
            total, count = score_rows(model, self.table, parts[fold])
        return {
            "score": float(total.sum() / count.sum()),
            "total": total.tolist(),
            "count": count.tolist(),
        }


def check_model(model: Any) -> None:
    """Refuse classes and names where a model belongs."""
    capabilities_of(model)


def in_sample(model: Any, criterion: str) -> float:
    """AIC, BIC or the evidence (bound) of a fitted model."""
    if criterion == "evidence":
        if not capabilities_of(model).has_evidence:
            raise ValueError(
                f"{type(model).__name__} has no evidence; BinaryICA(inference='vb') has one, and "
                "criterion='rows' asks every model the same."
            )
        return float(model.evidence_)
    if capabilities_of(model).sample_size is None:
        raise ValueError(
            f"{type(model).__name__} has no {criterion.upper()}; "
            "criterion='rows' asks every model the same."
        )
    return float(getattr(model, criterion)())


def run(plan: Plan, *, n_jobs: int | None, memory: Memory, verbose: int) -> list[dict[str, Any]]:
    """Evaluate every task that is not remembered; outcomes in the order of `plan.tasks`."""
    open_tasks = [task for task in plan.tasks if task not in memory]
    jobs = min(effective_n_jobs(n_jobs), max(len(open_tasks), 1))
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered")
    done = len(plan.tasks) - len(open_tasks)
    if verbose and open_tasks:
        begun = f"[{done}/{len(plan.tasks)}] fitting; the first fit of all compiles, once"
        print(begun, file=sys.stderr, flush=True)
    evaluations = pool(delayed(_numbered)(plan.evaluate, task) for task in open_tasks)
    for task, (outcome, model) in evaluations:
        memory.keep(task, outcome)
        memory.models[task.candidate] = model
        done += 1
        if verbose:
            _report(plan, task, outcome, done)
    return [memory[task] for task in plan.tasks]


def _numbered(evaluate: Callable[[Task], Any], task: Task) -> tuple[Task, Any]:
    return task, evaluate(task)


def _report(plan: Plan, task: Task, outcome: dict[str, Any], done: int) -> None:
    fold = f", part {task.fold + 1} of {plan.n_splits}" if plan.is_held_out else ""
    said = f"{plan.names[task.candidate]}{fold}: {plan.criterion} {outcome['score']:.6g}"
    progress = f"[{done}/{len(plan.tasks)}] {said} ({outcome['seconds']:.1f} s)"
    print(progress, file=sys.stderr, flush=True)


class Memory:
    """Outcomes so far, in a JSON file where a path is given, so that a run can be resumed."""

    def __init__(self, path: Any, fingerprint: str):
        self.path = None if path is None else check_target(path)
        self.fingerprint = fingerprint
        self.models: dict[int, Any] = {}
        self._outcomes: dict[Task, dict[str, Any]] = {}
        self.entropy: int | None = None
        if self.path is not None and self.path.exists():
            self._read()

    def __contains__(self, task: Task) -> bool:
        return task in self._outcomes

    def __getitem__(self, task: Task) -> dict[str, Any]:
        return self._outcomes[task]

    def keep(self, task: Task, outcome: dict[str, Any]) -> None:
        """Remember an outcome, and write everything down."""
        self._outcomes[task] = outcome
        if self.path is not None:
            outcomes = [[*task, outcome] for task, outcome in self._outcomes.items()]
            said = {
                "fingerprint": self.fingerprint,
                "entropy": str(self.entropy),
                "outcomes": outcomes,
            }
            write_atomically(self.path, json.dumps(said).encode())

    def finish(self, plan: Plan, candidate: int) -> Any:
        """The chosen candidate fitted to the whole table; nothing need be remembered after."""
        model = self.models.get(candidate)
        if model is None:
            model = plan.fitted(candidate)
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        return model

    def _read(self) -> None:
        try:
            said = json.loads(self.path.read_text())  # type: ignore[union-attr]
            fingerprint = said["fingerprint"]
            outcomes = {Task(c, f): dict(outcome) for c, f, outcome in said["outcomes"]}
            self.entropy = int(said["entropy"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self.path} is not a checkpoint of falsezero; "
                "give checkpoint= another name or delete the file."
            ) from error
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"{self.path} is a checkpoint of another table or of other settings; "
                "give checkpoint= another name or delete the file."
            )
        self._outcomes = outcomes


def fingerprint(table: Table, candidates: list[Any], *settings: Any) -> str:
    """Says which table, which candidates and which settings an outcome belongs to."""
    values = table.values
    # Seeds are those of the plan, whatever the candidates were given.
    models = [fingerprint_of(each, forget=(*IDLE, "random_state")) for each in candidates]
    said = (models, table.shape, settings, values.indptr, values.indices, values.data)
    return str(joblib.hash(said))


def planned(
    table: Any,
    candidates: list[Any],
    criterion: str,
    n_splits: int,
    random_state: Any,
    checkpoint: Any,
) -> tuple[Plan, Memory]:
    """A plan and the memory of what is already done of it."""
    if criterion not in CRITERIA:
        known = ", ".join(CRITERIA)
        raise ValueError(f"criterion={criterion!r} is not known; choose one of {known}.")
    for candidate in candidates:
        if criterion == "cells" and not capabilities_of(candidate).leaves_cells_out:
            raise ValueError(
                f"criterion='cells' hides cells, and {type(candidate).__name__} cannot be fitted "
                "without them; criterion='rows' leaves out whole rows instead."
            )
    labelled = as_table(table, kind="real")
    settings = (criterion, n_splits, random_state if isinstance(random_state, int) else None)
    memory = Memory(checkpoint, fingerprint(labelled, candidates, *settings))
    if memory.entropy is None:
        memory.entropy = entropy_of(random_state)
    names = [type(candidate).__name__ for candidate in candidates]
    return Plan(labelled, candidates, names, criterion, n_splits, memory.entropy), memory


def entropy_of(random_state: Any) -> int:
    """A whole number that all seeds of a plan derive from."""
    return int.from_bytes(spawn_seeds(random_state, 1)[0].generate_state(4).tobytes(), "little")


def summarise(plan: Plan, outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a candidate: mean over folds, standard error of that mean, seconds."""
    rows = []
    for candidate, name in enumerate(plan.names):
        found = [
            outcome
            for task, outcome in zip(plan.tasks, outcomes, strict=True)
            if task.candidate == candidate
        ]
        scores = np.array([outcome["score"] for outcome in found])
        row = {"candidate": name, plan.criterion: float(scores.mean())}
        if plan.is_held_out:
            error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
            row["standard_error"] = float(error)
        else:
            row["log_likelihood"] = found[0]["log_likelihood"]
        row["seconds"] = sum(outcome["seconds"] for outcome in found)
        row["converged"] = all(outcome["converged"] for outcome in found)
        rows.append(row)
    return rows
