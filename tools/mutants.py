"""Small changes to the source that the tests should notice: `make mutants`.

Draws a sample of mutants of `models/` and `analysis/` with a fixed seed, runs the tests of each
mutated module, and lists the mutants that no test noticed. A mutant exists in the process that runs
its tests only: the loader of one module compiles a changed syntax tree, and no file is touched.

    python tools/mutants.py --sample 40 --seed 0
    python tools/mutants.py --module analysis/compare.py --sample 200

Changed are comparisons, arithmetic, `and` and `or`, signs, numbers, and True and False. Messages,
annotations, default values and constants of a module are left alone: most of their changes make no
difference to what is computed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.machinery
import importlib.util
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "falsezero"
ROOMS = ("models", "analysis")
VARIABLE = "FALSEZERO_MUTANT"

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
IDLE = ("strict", "stacklevel", "flush", "copy")
"""Keywords that change no answer."""
BOOLEAN = {ast.And: ast.Or, ast.Or: ast.And}


# -- mutations --------------------------------------------------------------------------------


def places(tree: ast.Module) -> list[ast.AST]:
    """Nodes that can be changed, in the order of the source."""
    return [node for node in _semantic(tree) if _changed(node) is not None]


def _semantic(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that decide what is computed: no messages, annotations, defaults, module constants."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args", "bases") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in IDLE:
                continue
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.JoinedStr)):
                continue
            if isinstance(node, (ast.Module, ast.ClassDef)) and isinstance(
                child, (ast.Assign, ast.AnnAssign)
            ):
                continue
            yield child
            yield from _semantic(child)


def _changed(node: ast.AST) -> ast.AST | None:
    """What a node becomes; None for one that stays."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        first = COMPARISONS[type(node.ops[0])]()
        return ast.Compare(node.left, [first, *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node):
        return ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(BOOLEAN[type(node.op)](), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = node.value
        new = not value if isinstance(value, bool) else value + 1 if value in (0, 1) else value * 2
        return ast.Constant(new)
    return None


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def mutated(source: str, number: int) -> tuple[ast.Module, str]:
    """The syntax tree with one place changed, and the change in words.

    >>> tree, words = mutated("def f(x):\\n    return x < 3", 0)
    >>> words, ast.unparse(tree.body[0].body[0])
    ('line 2: x < 3 -> x <= 3', 'return x <= 3')
    """
    tree = ast.parse(source)
    node = places(tree)[number]
    new = ast.copy_location(copy.deepcopy(_changed(node)), node)
    words = f"line {node.lineno}: {ast.unparse(node)} -> {ast.unparse(new)}"
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if child is node else child for child in value])
    return ast.fix_missing_locations(tree), words


# -- in the process that runs the tests -------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module with its mutant's code."""

    number = 0

    def get_code(self, fullname: str) -> Any:
        tree, _ = mutated(Path(self.path).read_text(), self.number)
        return compile(tree, self.path, "exec")


class _Finder:
    """Finds the one module that is mutated."""

    def __init__(self, module: str, path: str, number: int):
        self.module, self.path, self.number = module, path, number

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        loader = _Loader(fullname, self.path)
        loader.number = self.number
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def install() -> None:
    """Put the mutant named by the environment in the way of its module's import."""
    path, _, number = os.environ[VARIABLE].rpartition(":")
    sys.meta_path.insert(0, _Finder(module_name(Path(path)), path, int(number)))  # type: ignore[arg-type]


# -- which tests, and what they say -----------------------------------------------------------


def module_name(path: Path) -> str:
    """Dotted name of a source file."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tests_of(path: Path) -> list[str]:
    """What tests a module: its doctests, the file that mirrors it, and those that import it."""
    room = ROOT / "tests" / path.parent.relative_to(SOURCE)
    own = room / f"test_{path.stem}.py"
    name, folder = module_name(path), module_name(path.parent)
    # The files of a family work together and are tested together; others by who imports them.
    is_family = path.parent.parent.name == "models" and path.parent.name != "baselines"
    mentioned = folder if is_family else name
    family = sorted(room.glob("test_*.py")) if is_family else []
    anywhere = [
        t for t in sorted((ROOT / "tests").rglob("test_*.py")) if mentioned in t.read_text()
    ]
    found = list(dict.fromkeys([path, *[own] * own.exists(), *family, *anywhere]))
    return [str(test.relative_to(ROOT)) for test in found]


def judge(path: Path, number: int, limit: float) -> str:
    """Run the tests of a mutant: "killed", "survived" or "timeout"; "broken" fails without it.

    A crash of the interpreter counts as killed.
    """
    try:
        done = _pytest(tests_of(path), limit, f"{path}:{number}")
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode == 0:
        return "survived"
    if done.returncode < 0:
        return "killed"
    if done.returncode not in (1, 2):
        raise RuntimeError(done.stdout + done.stderr)
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return "killed" if failed and _passes(failed[0]) else "broken"


@cache
def _passes(test: str) -> bool:
    """Whether a test passes without any mutant."""
    return _pytest([test], 3600.0).returncode == 0


def _pytest(tests: list[str], limit: float, mutant: str | None = None) -> Any:
    tools, source = str(Path(__file__).parent), str(ROOT / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tools, source])}
    if mutant is not None:
        environment[VARIABLE] = mutant
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "mutants", *tests]
    return subprocess.run(
        command, cwd=ROOT, env=environment, timeout=limit, capture_output=True, text=True
    )


def sample(paths: list[Path], size: int, seed: int) -> list[tuple[Path, int]]:
    """Mutants drawn without replacement from all mutants of some files."""
    sizes = {path: len(places(ast.parse(path.read_text()))) for path in paths}
    every = [(path, number) for path, size_of in sizes.items() for number in range(size_of)]
    return random.Random(seed).sample(every, min(size, len(every)))


def main() -> int:
    """Judge a sample and print every verdict; 1 where a mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, help="only mutants of this folder")
    parser.add_argument("--module", action="append", help="a file, such as analysis/compare.py")
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of one")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    options = parser.parse_args()
    paths = [SOURCE / name for name in options.module or []] or [
        path
        for room in ([options.room] if options.room else ROOMS)
        for path in sorted((SOURCE / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    began = time.monotonic()
    counts: Counter[str] = Counter()
    for path, number in sample(paths, options.sample, options.seed):
        if time.monotonic() - began > options.seconds:
            break
        verdict = judge(path, number, options.limit)
        counts[verdict] += 1
        _, words = mutated(path.read_text(), number)
        print(f"{verdict:9}{path.relative_to(SOURCE)} {words}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
if VARIABLE in os.environ:
    install()
