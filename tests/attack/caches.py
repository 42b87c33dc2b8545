"""Files of compiled code that are torn, empty or changed: the same answer, compiled anew."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import falsezero as fz

__all__ = ["EDITS", "attack"]

EDITS: dict[str, tuple[str, str]] = {}
"""What to change in the copy of the package that is attacked: by file, a text and another."""

_COMPILE = """
import warnings
import numpy as np
import falsezero as fz
warnings.simplefilter("ignore")
X = (np.random.default_rng(0).random((30, 8)) < 0.3).astype(float)
print(fz.BernoulliNMF(2, max_iter=5, random_state=0).fit(X).objective_.hex())
"""


def _run(folder: Path) -> str:
    package = folder / "package" / "falsezero"
    if not package.exists():
        # A copy has no compiled code beside it yet.
        ours = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(fz.__file__).parent, package, ignore=ours)
        for file, (old, new) in EDITS.items():
            text = (package / file).read_text()
            assert old in text, f"{file} has no {old}"
            (package / file).write_text(text.replace(old, new))
    places = {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(folder / "home")}
    environment = {**os.environ, **places, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", _COMPILE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr[-300:]
    return done.stdout


@cache
def _sound(folder: Path) -> str:
    """The answer, and a copy of a sound cache."""
    (folder / "cache").mkdir()
    answer = _run(folder)
    shutil.copytree(folder / "cache", folder / "kept")
    return answer


def attack(seed: int, folder: Path) -> str:
    """Spoil half of the files, or the folder."""
    rng, sound, spoilt = random.Random(seed), _sound(folder), folder / "cache"
    shutil.rmtree(spoilt)
    shutil.copytree(folder / "kept", spoilt)
    files = sorted(path for path in spoilt.rglob("*") if path.is_file())
    assert files, "nothing was cached"
    for path in rng.sample(files, max(1, len(files) // 2)):
        data = path.read_bytes()
        at = rng.randrange(len(data) or 1)
        path.write_bytes(rng.choice([b"", data[:at], data[:at] + b"\xff" + data[at + 1 :]]))
    if rng.random() < 0.2:
        shutil.rmtree(spoilt)
        spoilt.write_text("a file where a folder belongs")
    answer = _run(folder)
    if spoilt.is_file():
        spoilt.unlink()
        spoilt.mkdir()
    assert answer == sound, "other bits"
    return "compiled anew"
