"""The mutation run itself: what it changes, what it leaves alone, and which tests it asks."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
mutants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)

SOURCE = '''
LIMIT = 3

def f(x: int, y=1) -> int:
    """No 4 is changed here."""
    if x < 2:
        raise ValueError(f"{x + 1} is below {2}")
    return -x + y * 5 if x and not y else True
'''


def test_every_kind_of_change():
    number = len(mutants.places(ast.parse(SOURCE)))
    words = {mutants.mutated(SOURCE, i)[1].partition(": ")[2] for i in range(number)}
    assert words == {
        "x < 2 -> x <= 2",
        "2 -> 4",
        "-x + y * 5 -> -x - y * 5",
        "-x -> x",
        "y * 5 -> y / 5",
        "5 -> 10",
        "x and (not y) -> x or not y",
        "not y -> y",
        "True -> False",
    }


def test_one_place_is_changed_at_a_time():
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    tree, _ = mutants.mutated(SOURCE, 0)
    changed = [
        new for new, old in zip(ast.unparse(tree).splitlines(), whole, strict=True) if new != old
    ]
    assert len(changed) == 1


def test_a_module_is_asked_by_its_doctests_and_its_own_file_first():
    compare = ROOT / "src" / "falsezero" / "analysis" / "compare.py"
    assert mutants.tests_of(compare)[:2] == [
        "src/falsezero/analysis/compare.py",
        "tests/analysis/test_compare.py",
    ]
    family = ROOT / "src" / "falsezero" / "models" / "noisy_or" / "steps.py"
    assert "tests/models/noisy_or/test_noisy_or.py" in mutants.tests_of(family)


@pytest.mark.parametrize(("number", "same"), [(None, True), (0, False)])
def test_a_mutant_lives_in_its_process_only(number, same):
    path = ROOT / "src" / "falsezero" / "analysis" / "selection.py"
    source = path.read_text()
    every = range(len(mutants.places(ast.parse(source))))
    change = "n_components <= min(shape) -> n_components < min(shape)"
    place = next(i for i in every if change in mutants.mutated(source, i)[1])
    environment = {k: v for k, v in os.environ.items() if k != mutants.VARIABLE}
    if number is not None:
        environment[mutants.VARIABLE] = f"{path}:{place}"
    ask = "import mutants, falsezero.analysis.selection as s; print(s.too_many(3, (3, 4)))"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tools"), str(ROOT / "src")])
    found = subprocess.run(
        [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True
    )
    assert (found.stdout.strip() == "") is same
