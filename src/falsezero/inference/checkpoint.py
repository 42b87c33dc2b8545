"""Save a running fit, so that it can be killed at any moment and resumed to the same answer."""

from __future__ import annotations

import json
import os
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from falsezero.data.output import check_target, npz_bytes, write_atomically
from falsezero.data.row_files import Kept
from falsezero.inference import tree
from falsezero.inference.contract import Fit, Iteration, Point
from falsezero.inference.monitor import Monitor

IDLE = ("n_jobs", "verbose", "callback", "checkpoint")
"""Settings of a model that do not change its answer."""

_NO_LONGER_NEEDED: ContextVar[list[Path] | None] = ContextVar("falsezero_finished", default=None)


def remove_checkpoint(path: str | os.PathLike[str]) -> None:
    """Delete the checkpoint of completed work, or later if `keeping_checkpoints` is active."""
    waiting = _NO_LONGER_NEEDED.get()
    if waiting is None:
        Path(path).unlink(missing_ok=True)
    else:
        waiting.append(Path(path))


@contextmanager
def keeping_checkpoints() -> Iterator[None]:
    """Postpone deleting checkpoints to the end of the `with` block, when results are on disk."""
    waiting: list[Path] = []
    token = _NO_LONGER_NEEDED.set(waiting)
    try:
        yield
    finally:
        _NO_LONGER_NEEDED.reset(token)
    for path in waiting:
        remove_checkpoint(path)


def write_checkpoint(path: Path, data: bytes) -> bool:
    """Replace a checkpoint; if that fails, as on a full disk, warn and continue."""
    try:
        write_atomically(path, data)
    except OSError as problem:
        warnings.warn(
            f"The checkpoint {path} could not be written ({problem.strerror or problem}); the fit "
            "continues without it, and the last saved state is kept.",
            stacklevel=2,
        )
        return False
    return True


def fingerprint_of(model: Any, *more: Any, forget: tuple[str, ...] = IDLE) -> str:
    """Identify a fit by its model, the settings that change its answer, and further objects.

    All values of arrays count; addresses in memory do not.

    >>> from sklearn.decomposition import NMF
    >>> fingerprint_of(NMF(2)) == fingerprint_of(NMF(2, verbose=1)) != fingerprint_of(NMF(3))
    True
    """
    params = model.get_params(deep=False)
    settings = {name: value for name, value in params.items() if name not in forget}
    return str(joblib.hash((type(model).__name__, settings, *more)))


class Checkpoint:
    """A file that holds a fit in progress: the best restart so far and the current one.

    Parameters
    ----------
    path : path
        Where to write; replaced atomically.
    fingerprint : str
        Identifies the table and the settings of the fit; a file with another one is refused.
    every : float
        Least number of seconds between two writes.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str, every: float = 10.0):
        self.path = check_target(path)
        self.fingerprint = fingerprint
        self.every = every
        self._last = time.monotonic()
        self._best: Fit | None = None
        self._meta: dict[str, Any] = {}
        self._leaves: dict[str, list[np.ndarray]] = {"best": [], "current": []}
        self._pinned: list[Kept] = []
        if self.path.exists():
            self._read()

    def restarts_done(self, template: Callable[[], Point]) -> tuple[int, Fit | None]:
        """Number of finished restarts, and the best of them."""
        best = self._meta.get("best")
        if best is not None:
            state, local = tree.unflatten(template(), self._leaves["best"])
            self._best = Fit(state, local, **best)
        return self._meta.get("restart", 0), self._best

    def resume(self, restart: int, point: Point, monitor: Monitor) -> tuple[Point, float]:
        """The point that this restart had reached (or `point`), and the accelerator's stride."""
        current = self._meta.get("current")
        if current is None or current["restart"] != restart:
            return point, 1.0
        monitor.resume(current["history"])
        return tree.unflatten(point, self._leaves["current"]), current["stride"]

    def saver(self, restart: int) -> Callable[[Iteration, Monitor], None]:
        """A function that saves an iteration if the last save was long enough ago."""

        def save(iteration: Iteration, monitor: Monitor) -> None:
            if time.monotonic() - self._last < self.every:
                return
            current = {"restart": restart, "history": monitor.history, "stride": iteration.stride}
            self._write(restart, current, iteration.point)

        return save

    def keep_best(self, restarts: int, best: Fit) -> None:
        """Record that a restart is finished."""
        self._best = best
        self._write(restarts, None, None)

    def _write(self, restart: int, current: dict[str, Any] | None, point: Point | None) -> None:
        best = None if self._best is None else self._best._asdict()
        arrays = {f"current{i}": leaf for i, leaf in enumerate(tree.flatten(point))}
        if best is not None:
            kept = (best.pop("state"), best.pop("local"))
            arrays |= {f"best{i}": leaf for i, leaf in enumerate(tree.flatten(kept))}
        meta = {
            "fingerprint": self.fingerprint,
            "restart": restart,
            "best": best,
            "current": current,
        }
        data = npz_bytes({"meta": np.array(json.dumps(meta)), **arrays})
        if write_checkpoint(self.path, data):
            self._pin([point, self._best])
        self._last = time.monotonic()

    def _pin(self, points: list[Point | Fit | None]) -> None:
        """Keep the row files that the checkpoint names, and release earlier ones."""
        local = [part for point in points if point is not None for part in point.local]
        for kept in self._pinned:
            kept.is_pinned = False
        self._pinned = [part for part in local if isinstance(part, Kept)]
        for kept in self._pinned:
            kept.is_pinned = True

    def release(self) -> None:
        """Release all row files, because the fit is complete."""
        self._pin([])

    def _read(self) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                meta = dict(json.loads(str(archive["meta"])))
                names = [name for name in archive.files if name != "meta"]
                leaves = {
                    kind: [archive[f"{kind}{i}"] for i in range(sum(kind in n for n in names))]
                    for kind in self._leaves
                }
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{self.path} is not a checkpoint of falsezero, or was damaged; "
                "give checkpoint= another name or delete the file."
            ) from error
        if meta.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{self.path} is a checkpoint of another table or of other settings; "
                "give checkpoint= another name or delete the file."
            )
        self._meta, self._leaves = meta, leaves
