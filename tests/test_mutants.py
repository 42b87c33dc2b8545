"""The mutation run itself: what it changes, what it leaves alone, and which tests it asks."""

import ast
import importlib.util
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools import mutant_notes, mutants

ROOT = Path(__file__).parents[1]

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


def test_messages_and_what_stands_outside_functions_stay():
    source = """
import warnings
LIMIT = 3 + 4
for i in range(5):
    LIMIT += 1

def f(x):
    warnings.warn("more than" + str(x + 1), stacklevel=2)
    print(7, flush=True)
    x = max(x, 1e-12) if rng.random() < x else 1e300
    return dict(strict=True, size=9, optimize=True), x.reshape(-1)
"""
    number = len(mutants.places(ast.parse(source)))
    words = [mutants.mutated(source, i)[1] for i in range(number)]
    assert words == ["line 11: 9 -> 18", "line 11: -1 -> 1"]


def test_a_place_has_the_lines_of_its_statement():
    source = """def f(x):
    y = (x
         + 2)
    if (x
        < 3):
        return y
    return 0
"""
    number = len(mutants.places(ast.parse(source)))
    found = {
        mutants.mutated(source, i)[1].partition(": ")[2]: mutant_notes.lines_of(source, i)
        for i in range(number)
    }
    assert found["x + 2 -> x - 2"] == range(2, 4)
    assert found["2 -> 4"] == range(2, 4)
    assert found["x < 3 -> x <= 3"] == range(4, 6)
    assert found["0 -> 1"] == range(7, 8)


@pytest.fixture(name="module")
def _module(tmp_path, monkeypatch):
    """A module of its own that can be mutated, as if it stood in `models/`."""
    for tool in (mutants, mutant_notes):
        monkeypatch.setattr(tool, "SOURCE", tmp_path)
    path = tmp_path / "models" / "tried.py"
    path.parent.mkdir()
    path.write_text(
        "def outer(x):\n    def inner(y):\n        return y < 3\n    return inner(x)\n"
        "\n\ndef other(x):\n    return x + 1\n"
    )
    spec = importlib.util.spec_from_file_location("tried", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def test_a_mutant_lives_in_a_child_only(module):
    path, tried = module
    code = mutants.in_child(lambda: mutants.install(path, 0) and tried.outer(3), 60)
    assert code == 1, "the child sees 3 <= 3"
    assert tried.outer(3) is False
    assert mutants.in_child(lambda: tried.outer(3), 60) == 0


def test_a_child_that_takes_too_long_or_fails_is_told_apart():
    def endless():
        while True:
            pass

    assert mutants.in_child(endless, 1) == -signal.SIGXCPU
    assert mutants.in_child(lambda: 1 / 0, 60) == 1


def test_the_tracer_notes_executed_lines_of_the_rooms(module):
    _, tried = module
    tracer = mutant_notes.Tracer()
    mutant_notes.set_trace(tracer)
    try:
        tried.outer(1)
    finally:
        mutant_notes.set_trace(None)
    assert tracer.executed() == {"models/tried.py": [2, 3, 4]}


def test_a_shared_fixture_belongs_to_every_test_that_has_it(module):
    _, tried = module
    runner, tracer = mutants.Runner(), mutant_notes.Tracer()
    wide = SimpleNamespace(scope="module", baseid="tests/a.py", argname="model")
    own = SimpleNamespace(scope="function", baseid="tests/a.py", argname="table")
    mutant_notes.set_trace(tracer)
    try:
        for fixture, work in ((wide, tried.outer), (own, tried.other)):
            setting_up = runner.pytest_fixture_setup(fixture, None)
            next(setting_up)
            work(1)
            with pytest.raises(StopIteration, match="model"):
                setting_up.send("model")
        assert sys.gettrace() is tracer
    finally:
        mutant_notes.set_trace(None)
    assert tracer.executed() == {"models/tried.py": [8]}, "what the test itself executed"
    info = SimpleNamespace(name2fixturedefs={"model": [wide], "table": [own]})
    found = runner.fixtures_of(SimpleNamespace(_fixtureinfo=info))
    assert list(found) == ["tests/a.py::model"]
    assert found["tests/a.py::model"].lines == {"models/tried.py": [2, 3, 4]}
    assert mutant_notes.joined([found["tests/a.py::model"].lines, tracer.executed()]) == {
        "models/tried.py": [2, 3, 4, 8]
    }


def test_a_shared_fixture_is_paid_for_once(module):
    path, _ = module
    base = {"passes": True, "lines": {"models/tried.py": [3]}}
    notes = {
        "first": base | {"seconds": 1.0, "fixtures": {"model": 5.0}},
        "second": base | {"seconds": 2.0, "fixtures": {"model": 5.0}},
        "alone": base | {"seconds": 6.5, "fixtures": {}},
    }
    assert mutants.reaching(notes, path, 0, budget=8) == (["first", "second"], 8.0)
    assert mutants.reaching(notes, path, 0, budget=13) == (["first", "alone"], 12.5)


def test_quick_tests_and_those_of_the_own_folder_come_first(module):
    path, _ = module
    notes = {
        name: {"passes": passes, "seconds": seconds, "fixtures": {}}
        | {"lines": {"models/tried.py": lines}}
        for name, passes, seconds, lines in [
            ("slow", True, 9.0, [3]),
            ("quick", True, 1.0, [2, 3]),
            ("elsewhere", True, 0.1, [8]),
            ("broken", False, 0.1, [3]),
            ("middling", True, 5.0, [3]),
            ("tests/models/test_tried.py::own", True, 6.0, [3]),
        ]
    }
    own = "tests/models/test_tried.py::own"
    assert mutants.reaching(notes, path, 0, budget=12.5) == ([own, "quick", "middling"], 12.0)
    assert mutants.reaching(notes, path, 0, budget=11) == ([own, "quick"], 7.0)
    assert mutants.reaching(notes, path, 0, budget=0.5) == ([own], 6.0)
    assert mutants.reaching(notes, path, 2, budget=7) == (["elsewhere"], 0.1)


class Item:
    """A test that pytest would run."""

    def __init__(self, nodeid, work):
        self.nodeid, self.work = nodeid, work


def judge_of(module, tmp_path, monkeypatch):
    judge = mutants.Judge([], tmp_path / "notes.json", 30)

    def passes(item, after):
        item.work()
        return True

    monkeypatch.setattr(judge, "passes", passes)
    return judge


def test_verdicts_name_the_test_that_noticed(module, tmp_path, monkeypatch):
    path, tried = module

    def holds():
        if tried.outer(3):
            raise AssertionError

    def loops():
        while tried.outer(3):
            pass

    judge = judge_of(module, tmp_path, monkeypatch)
    real = mutants.in_child
    monkeypatch.setattr(mutants, "in_child", lambda work, limit: real(work, 1))
    blind, sharp, endless = Item("blind", int), Item("sharp", holds), Item("endless", loops)
    assert judge.verdict(path, 0, [blind, sharp], 1.0) == ("killed", "sharp")
    assert judge.verdict(path, 0, [blind], 1.0) == ("survived", "")
    assert judge.verdict(path, 0, [blind, endless], 1.0) == ("timeout", "endless")
    assert judge.verdict(path, 0, [], 0.0) == ("untested", "")
    assert judge.is_trusted(sharp, 1.0)
    assert not judge.is_trusted(Item("broken", lambda: 1 / 0), 1.0)


def test_a_test_that_fails_without_a_mutant_is_left_out(module, tmp_path, monkeypatch):
    path, tried = module

    def holds():
        if tried.outer(3):
            raise AssertionError

    judge = judge_of(module, tmp_path, monkeypatch)
    items = {item.nodeid: item for item in (Item("broken", lambda: 1 / 0), Item("sharp", holds))}
    notes = {
        name: {"passes": True, "seconds": i, "fixtures": {}, "lines": {"models/tried.py": [3]}}
        for i, name in enumerate(items)
    }
    assert judge.trusted_verdict(path, 0, notes, items) == ("killed", "sharp")
    assert not notes["broken"]["passes"]


def test_a_mutant_without_a_live_function_is_no_verdict(module, tmp_path, monkeypatch):
    path, _ = module
    judge = judge_of(module, tmp_path, monkeypatch)
    monkeypatch.setattr(mutants, "install", lambda path, number: 0)
    with pytest.raises(RuntimeError, match="no live function"):
        judge.verdict(path, 0, [Item("any", int)], 1.0)


def test_a_sample_is_spread_over_the_files_and_repeatable(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    monkeypatch.setattr(mutants, "EQUIVALENT", tmp_path / "equivalent.txt")
    paths = []
    for name, number in (("a", 40), ("b", 20)):
        paths.append(tmp_path / f"{name}.py")
        lines = [f"    x = x + y[{i + 5}]" for i in range(number // 2)]
        paths[-1].write_text("def f(x, y):\n" + "\n".join(lines) + "\n")
    drawn = mutants.sample(paths, 12, 0)
    assert drawn == mutants.sample(paths, 12, 0) != mutants.sample(paths, 12, 1)
    assert len(set(drawn)) == 12
    by_file = [sum(path == p for p, _ in drawn) for path in paths]
    assert by_file[0] in (7, 8, 9)
    (tmp_path / "equivalent.txt").write_text("# none\na.py | x = x + y[5] | 5 -> 10 | an example\n")
    everything = mutants.sample(paths, 60, 0)
    assert len(everything) == 59


def test_every_equivalent_mutant_has_its_reason():
    for line in mutants.EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            name, source, change, why = line.split(" | ")
            assert name.endswith(".py")
            assert source
            assert " -> " in change
            assert len(why) > 10


def test_equivalent_mutants_of_changed_lines_are_named(module, tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "EQUIVALENT", tmp_path / "equivalent.txt")
    lines = ["return x + 1 | 1 -> 2", "return x + 2 | 2 -> 4"]
    listed = [f"models/tried.py | {line} | an example of a reason" for line in lines]
    listed.append("models/gone.py | return x | x -> y | an example of a reason")
    (tmp_path / "equivalent.txt").write_text("\n".join(listed))
    assert mutants.outdated() == [
        ("models/gone.py", "return x", "x -> y"),
        ("models/tried.py", "return x + 2", "2 -> 4"),
    ]
