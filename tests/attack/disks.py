"""Disks that are full: a sentence, and nothing half."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from tests.attack.forks import Fork, falsezero

import falsezero as fz

__all__ = ["attack"]

_LIMITS = (0, 100, 2000, 6000, 12_000, 40_000)
_X = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(int)


def attack(seed: int, folder: Path) -> str:
    """Run the shell where a file may have only so many bytes, then where it may have more."""
    rng, limit = random.Random(seed), _LIMITS[seed % len(_LIMITS)]
    ending = rng.choice(["fz"] * 6 + ["html", "csv"])
    table, result, saved = folder / "t.csv", folder / f"{seed}.{ending}", folder / f"{seed}.ckpt"
    table.write_text("\n".join(",".join(map(str, row)) for row in [list("abcdefghijkl"), *_X]))
    fit = ["fit", str(table), "-k", "2", "--restarts", "2", "--checkpoint", str(saved)]
    work = fit if ending == "fz" else ["audit", str(table)]
    command = [*work, "-o", str(result), "--no-index", "--force"]
    falsezero(*command)
    sound = result.stat().st_size
    before = result.read_bytes() if rng.random() < 0.5 else None
    if before is None:
        result.unlink()
    code, _, said = Fork(_limited, command, limit).answer()
    assert "Traceback" not in said, said
    assert code in (0, 1), said
    left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
    assert not left, f"left behind: {left}"
    if code:
        assert (result.read_bytes() if result.exists() else None) == before, "half a file"
        code, _, said = falsezero(*command)
        assert code == 0, said
    assert result.stat().st_size > 0.9 * sound
    if command[0] == "fit":
        assert fz.load(result).components_.shape == (2, 12)
    return "refused" if limit < sound else "written"


def _limited(command: list[str], limit: int) -> tuple[int, str, str]:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return falsezero(*command)
