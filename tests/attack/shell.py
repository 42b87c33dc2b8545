"""Broken files and hostile labels through the shell: an exit code and a sentence, no traceback."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
from tests.attack.files import mutated, originals

from falsezero.cli import main

__all__ = ["attack"]

_FILES = ("t.csv", "t.tsv", "long.csv", "csr.npz", "t.npy", "t.mtx", "t.parquet")
_FIT = ("-k", "2", "--restarts", "1", "--max-iter", "5", "--force")


def attack(seed: int, folder: Path) -> None:
    """Fit a table and use the model on another, both of them changed."""
    rng = np.random.default_rng([seed, 4])
    names = [str(name) for name in rng.choice(_FILES, 2)]
    first, second, model = folder / names[0], folder / f"other-{names[1]}", folder / "m.fz"
    first.write_bytes(mutated(originals()[names[0]], rng))
    second.write_bytes(mutated(originals()[names[1]], rng))
    model.unlink(missing_ok=True)
    options = ("--binarize", "0") if rng.random() < 0.5 else ()
    _run("fit", str(first), "-o", str(model), *_FIT, *options, *_layout(first))
    if model.exists():
        uses = ("gaps", "denoise", "explain")
        used = second if rng.random() < 0.5 else first
        _run(uses[rng.integers(3)], str(model), str(used), *options, *_layout(used))


def _layout(path: Path) -> tuple[str, ...]:
    return ("--row", "site", "--column", "genus") if "long" in path.name else ()


def _run(*arguments: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    said = err.getvalue()
    assert code in (0, 1, 2, 3), f"{arguments}: exit code {code}"
    assert "Traceback" not in said, said
    assert "please report" not in said, said
    assert code == 0 or "Error" in said, said
    assert "\x1b" not in said, said
