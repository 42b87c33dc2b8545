"""Criteria are found by their registry, and rank only what means the same."""

import sys
from pathlib import Path

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.criteria import CRITERIA
from falsezero.cli import main

BRIER = '''
"""Mean squared error of the probabilities of all cells, as a criterion."""

import numpy as np

from falsezero.analysis.criteria import Criterion, register_criterion


def brier(model, part):
    expected = model.fit(part.table).reconstruct(part.table).to_numpy()
    return float(np.mean((expected - part.table.to_numpy()) ** 2))


register_criterion(Criterion("brier", -1, "mean squared error", brier))
'''


@pytest.fixture
def table():
    return fz.datasets.make_aspect_bernoulli(60, 8, 2, concentration=0.1, random_state=0).table


@pytest.fixture
def brier(tmp_path, monkeypatch):
    """A criterion that a module of one file makes known."""
    (tmp_path / "brier_criterion.py").write_text(BRIER)
    monkeypatch.syspath_prepend(tmp_path)
    import brier_criterion

    yield brier_criterion.brier
    del CRITERIA["brier"], sys.modules["brier_criterion"]


def test_a_criterion_in_one_file_chooses(table, brier):
    models = {"two": fz.BernoulliMixture(2, n_init=3), "one": fz.BernoulliMixture(1)}
    assert fz.compare(models, table, "brier", random_state=0).best == "two"
    choice = fz.select(fz.BernoulliMixture(n_init=3), table, [1, 2], "brier", random_state=0)
    assert choice.best == 2
    assert "has the lowest brier there" in repr(choice)
    assert choice.plot().ax_.get_ylabel() == "mean squared error\n(lower is better)"


def test_a_criterion_in_one_file_is_known_to_the_shell(table, brier, tmp_path, capsys):
    path = str(tmp_path / "t.csv")
    table.to_pandas().to_csv(path)
    options = ["--model", "bernoulli-mixture", "-k", "1,2", "--criterion", "brier", "-q"]
    assert main(["select", path, *options]) == 0
    assert "brier" in capsys.readouterr().out
    main(["select", "--help"])
    assert "brier" in capsys.readouterr().out
    assert main(["select", path, "--criterion", "brie"]) == 2
    assert "'brie' is not one of 'cells'" in capsys.readouterr().err


def test_row_scores_of_different_meanings_are_not_ranked(table):
    models = [fz.PLSA(2), fz.DiscretePCA(2)]
    with pytest.raises(ValueError, match=r"criterion='rows' means different things.*PLSA.*Discr"):
        fz.compare(models, table, "rows")
    with pytest.raises(ValueError, match="criterion='rows' means different things"):
        fz.compare([fz.AspectBernoulli(2), fz.PLSA(2)], table, "rows")


def test_criteria_that_count_another_n_are_not_ranked(table):
    models = [fz.AspectBernoulli(2), fz.BernoulliMixture(2)]
    with pytest.raises(ValueError, match=r"n = cells for AspectB.*n = rows for BernoulliMixture"):
        fz.compare(models, table, "bic")
    assert np.isfinite(fz.compare(models, table, "aic", random_state=0).table["aic"]).all()
    with pytest.raises(ValueError, match=r"binary table for AspectB.* weight table for PLSA"):
        fz.compare([fz.AspectBernoulli(2), fz.PLSA(2)], table, "aic")


def test_models_without_the_number_are_refused_by_name(table):
    with pytest.raises(ValueError, match="BinaryICA has no AIC"):
        fz.select(fz.BinaryICA(), table, [1, 2], "aic")
    with pytest.raises(ValueError, match="BinaryICA has no evidence"):
        fz.select(fz.BinaryICA(inference="em"), table, [1, 2], "evidence")
    with pytest.raises(ValueError, match="hides cells, and DiscretePCA cannot be fitted without"):
        fz.select(fz.DiscretePCA(), table, [1, 2], "cells")


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_is_documented(name):
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "choosing.md"
    assert f'| `"{name}"` |' in page.read_text()
    assert f'"{name}"' in fz.select.__doc__
    assert CRITERIA[name].sign in (1, -1)
