"""Processes that are killed, interrupted, or run out of disk: nothing is lost, nothing is wrong."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

import falsezero as fz

__all__ = ["damage_cache", "fill_disk", "interrupt", "kill"]

_FIT = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
import falsezero as fz
from falsezero.inference import checkpoint
checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
X = (np.random.default_rng(0).random((200, 30)) < 0.3).astype(float)
model = fz.AspectBernoulli(3, n_init=6, max_iter=60, tol=0, random_state=0, checkpoint={path!r})
print("ready", flush=True)
try:
    model.fit(X)
    print("done", model.objective_.hex(), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def _start(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _FIT.format(path=str(path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A bench in the background is deaf to interrupts, and so would be its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@cache
def _undisturbed(folder: Path) -> str:
    done, _ = _start(folder / "whole.ckpt").communicate(timeout=300)
    return done.split()[1]


def _assert_resumed(path: Path, folder: Path) -> None:
    said, errors = _start(path).communicate(timeout=300)
    assert said.split() == ["done", _undisturbed(folder)], said + errors
    left = [each.name for each in folder.iterdir() if path.name in each.name]
    assert not left, f"left behind: {left}"


def kill(seed: int, folder: Path) -> None:
    """Kill a fit at a random moment; the next run ends with the same bits."""
    path = folder / f"{seed}.ckpt"
    process = _start(path)
    time.sleep(random.Random(seed).uniform(0.0, 1.5))
    process.kill()
    process.communicate()
    _assert_resumed(path, folder)


def interrupt(seed: int, folder: Path) -> None:
    """Press Ctrl-C at a random moment: a KeyboardInterrupt, and a checkpoint that goes on."""
    path = folder / f"{seed}.ckpt"
    process = _start(path)
    time.sleep(random.Random(seed).uniform(0.05, 1.5))
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert said.startswith(("interrupted", "done")), said + errors
    if said.startswith("interrupted"):
        _assert_resumed(path, folder)


def fill_disk(seed: int, folder: Path) -> None:
    """Run the shell where files may have only so many bytes: a sentence, and nothing half."""
    import resource

    table, model, saved = folder / "t.csv", folder / f"{seed}.fz", folder / f"{seed}.ckpt"
    X = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(int)
    table.write_text("\n".join(",".join(map(str, row)) for row in [list("abcdefghijkl"), *X]))
    command = [sys.executable, "-m", "falsezero", "fit", str(table), "-o", str(model), "-k", "2"]
    command += ["--checkpoint", str(saved), "--no-index", "--force"]
    limit = random.Random(seed).choice([0, 100, 2000, 6000, 12_000, 40_000])

    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, preexec_fn=restrict, env=environment
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    if done.returncode:
        assert not model.exists()
        again = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0, again.stderr
    assert fz.load(model).components_.shape == (2, 12)
    left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
    assert not left, f"left behind: {left}"


_COMPILE = """
import warnings
import numpy as np
import falsezero as fz
warnings.simplefilter("ignore")
X = (np.random.default_rng(0).random((30, 8)) < 0.3).astype(float)
print(fz.LogisticPCA(2, max_iter=5, random_state=0).fit(X).objective_.hex())
"""


def damage_cache(seed: int, folder: Path) -> None:
    """Spoil the files of compiled code: the same answer, compiled anew."""
    rng = random.Random(seed)
    package = folder / "package" / "falsezero"
    if not package.exists():
        # A copy has no compiled code beside it yet.
        ours = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(fz.__file__).parent, package, ignore=ours)
    places = {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(folder / "home")}
    environment = {**os.environ, **places, "NUMBA_CACHE_DIR": str(folder / "cache")}
    (folder / "cache").mkdir(exist_ok=True)

    def run() -> str:
        command = [sys.executable, "-c", _COMPILE]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=environment, check=True
        )
        return done.stdout

    sound = run()
    files = sorted(path for path in (folder / "cache").rglob("*") if path.is_file())
    assert files, "nothing was cached"
    for path in rng.sample(files, max(1, len(files) // 2)):
        data = path.read_bytes()
        at = rng.randrange(len(data) or 1)
        path.write_bytes(rng.choice([b"", data[:at], data[:at] + b"\xff" + data[at + 1 :]]))
    assert run() == sound
