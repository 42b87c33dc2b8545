"""One name, one thing: nobody should have to ask which `log_evidence` is meant."""

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path

import falsezero as fz
from falsezero.models import REGISTRY, model_class

ROOT = Path(fz.__file__).parent
PUBLIC = ("analysis", "audit", "data", "models", "plot", "report", "explorer", "io", "datasets")


def public_functions(path):
    """Functions that a module lists in `__all__`."""
    tree = ast.parse(path.read_text())
    listed = {
        name.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for name in ast.walk(node.value)
        if isinstance(name, ast.Constant)
    }
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in listed]


def test_no_two_public_functions_share_a_name():
    homes = defaultdict(set)
    for layer in PUBLIC:
        for path in (ROOT / layer).rglob("*.py"):
            for name in public_functions(path):
                homes[name].add(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def defined(kind):
    """Where each class or function without an underscore is defined, room by room."""
    homes = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(ROOT))
    return homes


def test_no_two_classes_share_a_name():
    """Except the three records of the model contract, which every family calls alike."""
    roles = {"State", "Rows", "Statistics"}
    homes = {name: where for name, where in defined(ast.ClassDef).items() if len(where) > 1}
    assert set(homes) <= roles, homes
    assert all(path.parts[0] == "models" for where in homes.values() for path in where)


def test_no_two_functions_of_different_modules_share_a_name():
    """Except entry points, and the sections of a paper, which are read inside their own report."""
    entries = {"command", "main", "run"}
    homes = {
        name: [path for path in where if path.parts[0] != "experiments"]
        for name, where in defined(ast.FunctionDef).items()
        if name not in entries
    }
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_method_of_a_model_has_the_name_of_a_public_function():
    functions = {name for name in fz.__all__ if inspect.isfunction(getattr(fz, name))}
    functions |= set(public_functions(ROOT / "analysis" / "metrics.py"))
    for short in REGISTRY:
        kind = model_class(short)
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction)}
        assert not methods & functions, short


def test_parameters_of_models_use_one_word_for_a_thing():
    banned = {"n_restarts", "draws", "top", "parts", "model", "n_iter", "seed"}
    for short in REGISTRY:
        assert not banned & set(inspect.signature(model_class(short)).parameters), short


def test_the_code_of_an_unobserved_cell_is_written_by_its_name():
    literal = re.compile(r"\bcodes?(\[[^\]]*\])? [!=]= 2\b")
    found = [str(path) for path in ROOT.rglob("*.py") if literal.search(path.read_text())]
    assert found == []
