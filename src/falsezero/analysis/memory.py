"""Finished outcomes, kept in a file so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import joblib

from falsezero.analysis.plan import Plan, Task, forget_rows
from falsezero.data.output import check_target
from falsezero.data.shards import Shards
from falsezero.data.table import Table
from falsezero.inference.checkpoint import (
    IDLE,
    fingerprint_of,
    remove_checkpoint,
    write_checkpoint,
)

__all__ = ["Memory", "fingerprint"]


class Memory:
    """Finished outcomes, also in a JSON file if a path is given, so that a run can be resumed."""

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
        """Remember an outcome, and write all outcomes to the file."""
        self._outcomes[task] = outcome
        if self.path is not None:
            content = {
                "fingerprint": self.fingerprint,
                "entropy": str(self.entropy),
                "outcomes": [[*task, outcome] for task, outcome in self._outcomes.items()],
            }
            whole = {"sha256": _digest(content), **content}
            write_checkpoint(self.path, json.dumps(whole).encode())

    def finish(self, plan: Plan, candidate: int) -> Any:
        """The chosen candidate fitted to the whole table; the file is no longer needed."""
        model = self.models.get(candidate)
        if model is None:
            model = plan.fitted(candidate)
        for other in self.models.values():
            if other is not None and other is not model:
                forget_rows(other)
        if self.path is not None:
            remove_checkpoint(self.path)
        return model

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_text())  # type: ignore[union-attr]
            if content.pop("sha256") != _digest(content):
                raise ValueError("changed after it was written")
            fingerprint = content["fingerprint"]
            outcomes = {Task(c, p): dict(outcome) for c, p, outcome in content["outcomes"]}
            self.entropy = int(content["entropy"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path} is not a checkpoint of falsezero, or was damaged; "
                "give checkpoint= another name or delete the file."
            ) from error
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"{self.path} is a checkpoint of another table or of other settings; "
                "give checkpoint= another name or delete the file."
            )
        self._outcomes = outcomes


def _digest(content: dict[str, Any]) -> str:
    """Checksum of what JSON keeps of the content, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fingerprint(table: Table | Shards, candidates: list[Any], *settings: Any) -> str:
    """Hash of the table, the candidates and the settings that outcomes belong to.

    Files are known by their names and numbers of rows.
    """
    # Seeds are those of the plan, whatever the candidates were given.
    models = [fingerprint_of(each, forget=(*IDLE, "random_state")) for each in candidates]
    if isinstance(table, Shards):
        cells: tuple[Any, ...] = (table.files, table.starts)
    else:
        cells = (table.values.indptr, table.values.indices, table.values.data)
    return str(joblib.hash((models, table.shape, settings, *cells)))
