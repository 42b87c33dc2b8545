"""The public names: loaded when used, importable from two places, seen by type checkers."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import falsezero as fz
from falsezero import models
from falsezero._lazy import read_stub

USES = """
import falsezero as fz
from falsezero import DataError, Selection, Table
from falsezero.models import AspectBernoulli

table: Table = fz.as_table([[1, 0], [0, 1]])
read = fz.read("finds.csv", row="site", column="genus")
wrong_read = fz.read("finds.csv", rwo="site")  # wrong
model = fz.AspectBernoulli(n_components=2).fit(table)
wrong_model = fz.AspectBernoulli(n_componets=2)  # wrong
same = AspectBernoulli(2)
wrong_same = AspectBernoulli(n_componets=2)  # wrong
choice: Selection = fz.select(model, table)
wrong_choice: Table = fz.select(model, table)  # wrong
topics = fz.models.DiscretePCA(n_components=2)
wrong_topics = fz.models.DiscretePCA(topics=2)  # wrong
wrong_name = fz.AspectBernouli(2)  # wrong
bars = fz.plot.ComponentBarsDisplay.from_estimator(model, table)
wrong_picture = fz.plot.TernaryDisplay(model, tabel=table)  # wrong
wrong_denoise = fz.denoise(model, table, treshold=0.5)  # wrong
phantoms: fz.Phantoms = fz.find_phantoms(model)
error = DataError("no")
"""


def test_type_checker_refuses_exactly_the_wrong_lines(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "uses.py"
    file.write_text(USES)
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nignore_missing_imports = True\nfollow_imports = silent\n"
    )
    root = Path(fz.__file__).parents[1]
    words = ["--config-file", str(tmp_path / "mypy.ini"), "--no-error-summary", "uses.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(root)},
        capture_output=True,
        text=True,
    )
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    lines = enumerate(USES.splitlines(), start=1)
    assert found == {i for i, line in lines if line.endswith("# wrong")}, done.stdout + done.stderr


def test_every_public_module_is_type_checked_strictly() -> None:
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    strict = settings["tool"]["mypy"]["overrides"][0]
    homes = {
        f"{home}.{name}" if home == "falsezero" else home
        for package in ("falsezero", "falsezero.models", "falsezero.plot")
        for name, home in read_stub(package).items()
    }
    patterns = [f"{name.removesuffix('.*')}." for name in strict["module"]]
    loose = {home for home in homes if not f"{home}.".startswith(tuple(patterns))}
    assert loose == {"falsezero.inference", "falsezero.models"}  # Packages; they define nothing.
    assert strict["warn_return_any"]
    assert strict["disallow_subclassing_any"]


@pytest.mark.parametrize("name", fz.__all__)
def test_every_public_name_loads(name: str) -> None:
    value = getattr(fz, name)
    assert value is not None
    assert name in dir(fz)


def test_models_are_the_same_in_both_places() -> None:
    for name in read_stub("falsezero.models"):
        assert getattr(models, name) is getattr(fz, name)


def test_every_registered_model_is_public() -> None:
    classes = {home.partition(":")[2] for home in models.SAVED.values()}
    assert classes == set(read_stub("falsezero.models"))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="falsezero has no 'AspectBernouli'"):
        _ = fz.AspectBernouli
    with pytest.raises(ImportError):
        exec("from falsezero.models import AspectBernouli")


def test_importing_falsezero_imports_nothing_heavy() -> None:
    program = (
        "import sys, falsezero, falsezero.models\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_importing_a_model_does_not_import_the_compiler() -> None:
    program = "import sys, falsezero; falsezero.AspectBernoulli; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_stub_of_a_star_import_takes_what_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_package" / "below").mkdir(parents=True)
    for folder, stub in [
        ("a_package", "from a_package.below import *\nfrom a_package import below as below\n"),
        ("a_package/below", "from math import pi\nfrom math import e\n__all__ = ['pi']\n"),
    ]:
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / "__init__.pyi").write_text(stub)
    monkeypatch.syspath_prepend(tmp_path)
    homes: dict[str, Any] = read_stub("a_package")
    assert homes == {"pi": "math", "below": "a_package"}
