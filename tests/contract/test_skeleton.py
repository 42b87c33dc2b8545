"""The recipe of CONTRIBUTING, followed to the letter: copy the skeleton, register one name."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli import main
from falsezero.models import MODELS, _skeleton

CONTRACT = Path(__file__).with_name("test_contract.py")
PLUGIN = 'from falsezero.models import MODELS\n\nMODELS["my-model"] = "my_model:MyModel"\n'


@pytest.fixture
def recipe(tmp_path):
    """A folder with a copy of the skeleton under another name."""
    source = Path(_skeleton.__file__).read_text().replace("Skeleton", "MyModel")
    (tmp_path / "my_model.py").write_text(source)
    (tmp_path / "register_my_model.py").write_text(PLUGIN)
    return tmp_path


def test_a_copied_skeleton_passes_every_contract_test(recipe):
    paths = os.pathsep.join([str(recipe), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "register_my_model"]
    command += ["-p", "no:cacheprovider", "-k", "my-model", str(CONTRACT)]
    outcome = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stdout[-3000:] + outcome.stderr[-1000:]
    n_passed = int(outcome.stdout.strip().splitlines()[-1].split(" passed")[0].split()[-1])
    assert n_passed >= 30


@pytest.fixture
def my_model(recipe, monkeypatch):
    """The class of the copy, registered in this process."""
    monkeypatch.syspath_prepend(recipe)
    monkeypatch.setitem(MODELS, "my-model", "my_model:MyModel")
    from my_model import MyModel

    yield MyModel
    sys.modules.pop("my_model")


def test_a_copied_skeleton_is_compared_chosen_and_explored(my_model, tmp_path):
    table = fz.datasets.make_aspect_bernoulli(60, 8, 2, concentration=0.1, random_state=0).table
    found = fz.compare({"mine": my_model(2), "mixture": fz.BernoulliMixture(2)}, table, "rows")
    assert np.isfinite(found.table["rows"]).all()
    choice = fz.select(my_model(tol=1e-5), table, [1, 2], n_splits=2, random_state=0)
    page = fz.explore(choice.model, table, tmp_path / "page.html")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_copied_skeleton_works_in_the_shell(my_model, tmp_path, capsys):
    table = np.kron(np.eye(2), np.ones((6, 3)))
    np.save(tmp_path / "t.npy", table)
    path = str(tmp_path / "t.fz")
    fit = ["fit", str(tmp_path / "t.npy"), "-o", path, "--model", "my-model", "-k", "2"]
    assert main(fit) == 0
    assert type(fz.load(path)) is my_model
    assert main(["info", path]) == 0
    assert "MyModel: 2 components" in capsys.readouterr().out
    main(["fit", "--help"])
    assert "my-model" in capsys.readouterr().out
