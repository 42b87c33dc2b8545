"""Fits that are killed, at a random moment or at a call that changes files: nothing is lost.

The next run of the same fit ends with the same bits, in the library and in the shell, and leaves no
file behind. A model that the shell has written is whole.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from tests.attack.forks import Fork, falsezero, kill_at_call

import falsezero as fz
from falsezero.inference import checkpoint

__all__ = ["WORKS", "attack", "resume", "undisturbed"]

_X = (np.random.default_rng(0).random((120, 24)) < 0.3).astype(float)
_LOOKS = (np.random.default_rng(1).random((40, 3, 10)) < 0.3).astype(float)
_SETTINGS = {"random_state": 0, "n_init": 4, "max_iter": 25, "tol": 0.0}
_SHELL = ("--seed", "0", "--restarts", "3", "--max-iter", "20", "--tol", "0", "--force")
_CALLS = ("fsync", "replace", "unlink")
_FIRST_SAVED = 1
"""The first checkpoint is in place after two calls, which are counted from 0."""


def _library(model: Any, table: Any, folder: Path, name: str) -> str:
    model.set_params(checkpoint=folder / f"{name}.ckpt").fit(table)
    return str(joblib.hash((model.components_, model.row_weights_, model.objective_)))


def _fit(folder: Path, name: str) -> str:
    code, out, err = falsezero(*_arguments("fit", folder, name), "-k", "3")
    return _said(code, err) or _saved(folder / f"{name}.fz") + _timeless(out)


def _select(folder: Path, name: str) -> str:
    code, out, err = falsezero(*_arguments("select", folder, name), "-k", "1-3", "--splits", "2")
    return _said(code, err) or _saved(folder / f"{name}.fz") + _timeless(out)


def _saved(model: Path) -> str:
    return str(joblib.hash(fz.load(model).components_))


def _timeless(out: str) -> str:
    return "".join(line for line in out.splitlines() if '"seconds"' not in line)


def _said(code: int, err: str) -> str:
    assert code in (0, 130), err
    assert "Traceback" not in err, err
    return "interrupted" if code else ""


def _arguments(command: str, folder: Path, name: str) -> list[str]:
    table = folder / "t.csv"
    if not table.exists():
        lines = [[f"c{t}" for t in range(_X.shape[1])], *_X.astype(int).tolist()]
        table.write_text("\n".join(",".join(map(str, line)) for line in lines))
    files = ["-o", str(folder / f"{name}.fz"), "--checkpoint", str(folder / f"{name}.ckpt")]
    return [command, str(table), *files, *_SHELL, "--no-index", "--json"]


def _of(kind: Any, table: Any = _X, **more: Any) -> Callable[[Path, str], str]:
    model = kind(2, **({**_SETTINGS, **more}))
    return lambda folder, name: _library(model, table, folder, name)


WORKS: list[Callable[[Path, str], str]] = [
    _of(fz.AspectBernoulli, prior=1.0),
    _fit,
    _of(fz.NoisyOr),
    _select,
    _of(fz.BinaryICA, inference="vb"),
    _of(fz.DiscretePCA),
    _of(fz.LogisticPCA),
    _fit,
    _of(fz.BernoulliMixture),
    _of(fz.PLSA),
]
"""Fits with a checkpoint, in the library and in the shell; a seed takes one of them in turn."""


class Undisturbed(NamedTuple):
    """What a fit comes to when nobody disturbs it."""

    answer: str
    seconds: float
    calls: int


def run(at: int, folder: Path, name: str, dies: tuple[int, bool] | None = None) -> str:
    """Fit with a checkpoint in every iteration; `interrupted` where somebody pressed Ctrl-C."""
    import warnings

    checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
    if dies is not None:
        kill_at_call(*dies)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return WORKS[at](folder, name)
    except KeyboardInterrupt:
        return "interrupted"


def _counted(at: int, folder: Path) -> tuple[str, int]:
    calls = [0]

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            calls[0] += 1
            return call(*arguments, **named)

        return wrapped

    for name in _CALLS:
        setattr(os, name, counting(getattr(os, name)))
    return run(at, folder, f"whole-{at}"), calls[0]


@cache
def undisturbed(at: int, folder: Path) -> Undisturbed:
    """The answer of a fit, how long it takes when warm and how often it changes files."""
    # Here, so that every process forked from this one has the compiled code.
    run(at, folder, f"warm-{at}")
    began = time.perf_counter()
    answer, calls = Fork(_counted, at, folder).answer()
    return Undisturbed(answer, time.perf_counter() - began, calls)


def attack(seed: int, folder: Path) -> str:
    """Kill a fit; the next run ends with the same bits."""
    rng, at, name = random.Random(seed), seed % len(WORKS), f"killed-{seed}"
    whole, number = undisturbed(at, folder), 0
    if seed % 2:
        # The last calls write the result and remove the checkpoint.
        late = rng.random() < 0.5
        number = rng.randrange(max(0, whole.calls - 8) if late else 0, whole.calls)
        fork = Fork(run, at, folder, name, (number, rng.random() < 0.5))
    else:
        fork = Fork(run, at, folder, name)
        if not fork.has_ended(rng.uniform(0.0, whole.seconds)):
            fork.kill()
    if fork.answer() is not None:
        return "ended before it was killed"
    if WORKS[at] in (_fit, _select) and number > _FIRST_SAVED:
        kept = [each for each in ("ckpt", "fz") if (folder / f"{name}.{each}").exists()]
        assert kept, "neither a checkpoint nor a model: the fit is lost"
    return resume(at, folder, name)


def resume(at: int, folder: Path, name: str) -> str:
    """Run a fit again, from its checkpoint where it got so far: the same answer, nothing left."""
    saved, model = folder / f"{name}.ckpt", folder / f"{name}.fz"
    found = "resumed" if saved.exists() else "begun anew"
    if model.exists():
        assert _saved(model) in undisturbed(at, folder).answer
        found = "resumed" if saved.exists() else "written before the kill"
    answer = Fork(run, at, folder, name).answer()
    assert answer == undisturbed(at, folder).answer, f"other bits: {answer}"
    model.unlink(missing_ok=True)
    left = [each.name for each in folder.iterdir() if name in each.name]
    assert not left, f"left behind: {left}"
    return found
