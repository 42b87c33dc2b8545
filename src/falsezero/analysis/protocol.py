"""Run a plan in parallel, resume it after an interrupt, and report fits as they finish."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from falsezero.analysis.criteria import CRITERIA, Criterion, criterion_named
from falsezero.analysis.heldout import MOST_HIDDEN
from falsezero.analysis.memory import Memory, fingerprint
from falsezero.analysis.plan import Plan, Task, entropy_of
from falsezero.data.read import as_table
from falsezero.data.shards import Shards
from falsezero.data.table import Table

__all__ = ["planned", "run_plan", "summarise"]


def planned(
    table: Any,
    candidates: list[Any],
    criterion: str,
    n_splits: int,
    random_state: Any,
    checkpoint: Any,
) -> tuple[Plan, Memory]:
    """A plan, and the outcomes that are already there."""
    judge = criterion_named(criterion)
    judge.check(candidates)
    if isinstance(table, Shards):
        labelled = _small_in_memory(table, judge)
    else:
        labelled = as_table(table, kind="real")
    if random_state is None:
        random_state = _seed_of(candidates)
    seed = int(random_state) if isinstance(random_state, Integral) else None
    settings = (criterion, n_splits, seed)
    memory = Memory(checkpoint, fingerprint(labelled, candidates, *settings))
    if memory.entropy is None:
        memory.entropy = entropy_of(random_state)
    names = [type(candidate).__name__ for candidate in candidates]
    agreed = judge.agree(candidates, labelled)
    return Plan(labelled, candidates, names, judge, n_splits, memory.entropy, agreed), memory


def _small_in_memory(shards: Shards, judge: Criterion) -> Shards | Table:
    """Files that are small together as a table in memory, where every criterion is defined."""
    n_rows, n_columns = shards.shape
    if n_rows * n_columns <= MOST_HIDDEN:
        return shards.to_table()
    if not judge.in_files:
        known = ", ".join(f"'{name}'" for name, each in CRITERIA.items() if each.in_files)
        raise ValueError(
            f"criterion={judge.name!r} needs the table in memory, which {shards!r} is too large "
            f"for; choose one of {known}."
        )
    return shards


def _seed_of(candidates: list[Any]) -> Any:
    """The first seed given to a candidate, or None."""
    seeds = [candidate.get_params(deep=False).get("random_state") for candidate in candidates]
    return next((seed for seed in seeds if seed is not None), None)


def run_plan(
    plan: Plan, *, n_jobs: int | None, memory: Memory, verbose: int
) -> list[dict[str, Any]]:
    """Evaluate every task without an outcome; outcomes in the order of `plan.tasks`."""
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
    judge = plan.criterion
    part = f", part {task.part + 1} of {plan.n_splits}" if judge.hides_parts else ""
    score = f"{plan.names[task.candidate]}{part}: {judge.name} {outcome['score']:.6g}"
    progress = f"[{done}/{len(plan.tasks)}] {score} ({outcome['seconds']:.1f} s)"
    print(progress, file=sys.stderr, flush=True)


def summarise(plan: Plan, outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a candidate: mean over parts, standard error of that mean, seconds."""
    rows = []
    for candidate, name in enumerate(plan.names):
        found = [
            outcome
            for task, outcome in zip(plan.tasks, outcomes, strict=True)
            if task.candidate == candidate
        ]
        scores = np.array([outcome["score"] for outcome in found])
        row = {"candidate": name, plan.criterion.name: float(scores.mean())}
        if plan.criterion.hides_parts:
            error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
            row["standard_error"] = float(error)
        else:
            row["log_likelihood"] = found[0]["log_likelihood"]
        row["seconds"] = sum(outcome["seconds"] for outcome in found)
        row["converged"] = all(outcome["converged"] for outcome in found)
        rows.append(row)
    return rows
