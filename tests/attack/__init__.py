"""An attack on falsezero: hostile tables, broken files, forged models, kills, full disks.

Every kind of attack is a function of a seed and a folder. It raises `AssertionError` when something
was lost, let in or answered wrongly, and says in a word what came of the try. ``make attack`` runs
many seeds of each, in processes of their own, so that a crash or a hang of one is counted and does
not end the rest; `test_attack.py` runs a few seeds of each with the other tests. `controls.py`
breaks the library on purpose, once for each kind: an attack that does not notice proves nothing.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

KINDS = {
    "tables": 10_000,
    "files": 5_000,
    "models": 2_000,
    "doors": 2_000,
    "shell": 1_000,
    "kills": 100,
    "interrupts": 60,
    "disks": 40,
    "caches": 20,
    "workers": 40,
    "pages": 40,
}
"""What is attacked, each in a module of that name, and how often in full."""


def attack_of(kind: str) -> Callable[[int, Path], str | None]:
    """The function that attacks once."""
    attack: Callable[[int, Path], str | None] = import_module(f"{__name__}.{kind}").attack
    return attack
