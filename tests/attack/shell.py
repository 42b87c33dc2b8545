"""Broken files and hostile labels through the shell: an exit code and a sentence, no traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.attack.files import _SLOW, changed, mutated, put
from tests.attack.forks import falsezero
from tests.attack.originals import LAYOUTS, originals

__all__ = ["attack"]

_FIT = ("-k", "2", "--restarts", "1", "--max-iter", "5", "--force")
_USES = ("gaps", "denoise", "explain", "impute", "info")
_SAID = ("Error", "Usage")


def attack(seed: int, folder: Path) -> str:
    """Fit a table and use the model on another, both of them changed; or audit one."""
    rng = np.random.default_rng([seed, 4])
    names = [name for name in originals() if name not in _SLOW]
    first, second = (folder / str(name) for name in rng.choice(names, 2))
    for path in (first, second):
        data = originals()[path.name] if rng.random() < 0.5 else changed(path.name, rng)
        put(path, data)
    options = ["--binarize", "0"] if rng.random() < 0.5 else []
    if rng.random() < 0.02:
        return _run("audit", str(first), *options, *_layout(first), "-n", "5")
    model = folder / "m.fz"
    model.unlink(missing_ok=True)
    _run("fit", str(first), "-o", str(model), *_FIT, *options, *_layout(first, looks=False))
    if not model.exists():
        return "refused"
    if rng.random() < 0.3:
        model.write_bytes(mutated(model.read_bytes(), rng))
    use, used = str(rng.choice(_USES)), second if rng.random() < 0.5 else first
    if use == "info":
        return _run(use, str(model))
    named = [f"c{rng.integers(3)}"] if use == "explain" and rng.random() < 0.2 else []
    return _run(use, str(model), str(used), *named, *options, *_layout(used, looks=False))


def _layout(path: Path, looks: bool = True) -> list[str]:
    found = LAYOUTS.get(path.name, {})
    return [
        word
        for name, value in found.items()
        for word in (f"--{name}", value)
        if looks or name != "look"
    ]


def _run(*arguments: str) -> str:
    code, out, said = falsezero(*arguments)
    assert code in (0, 1, 2, 3), f"{arguments}: exit code {code}"
    assert "Traceback" not in said, said
    assert "please report" not in said, said
    assert code in (0, 3) or any(word in said for word in _SAID), said
    assert "\x1b" not in said + out, said
    return "done" if code in (0, 3) else "refused"
