"""Criteria are found by their registry, and rank only what means the same."""

import sys
from pathlib import Path

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis import criteria
from falsezero.analysis.criteria import CRITERIA
from falsezero.analysis.protocol import planned
from falsezero.cli import main
from falsezero.models import REGISTRY, model_class

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
    assert "(lowest brier)" in repr(choice)
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
    with pytest.raises(ValueError, match="criterion='rows' means different things"):
        fz.compare([fz.AspectBernoulli(2), fz.PLSA(2)], table, "rows")
    grouped = fz.DiscretePCA(2, groups=["a"] * 4 + ["b"] * 4)
    with pytest.raises(ValueError, match=r"given their total for PLSA.* total of each group for D"):
        fz.compare([fz.PLSA(2), grouped], table, "rows")
    real = fz.BinaryMatrixFactorization(likelihood="gaussian")
    with pytest.raises(ValueError, match=r"of a binary table for Bern.* of a real table for Bin"):
        fz.compare([fz.BernoulliMixture(2), real], table, "rows")


def test_likelihoods_of_different_tables_are_not_ranked(table):
    with pytest.raises(ValueError, match=r"binary table for AspectB.* weight table for PLSA"):
        fz.compare([fz.AspectBernoulli(2), fz.PLSA(2)], table, "aic")


def test_one_n_for_every_bic_of_a_comparison(table):
    """Mixtures count rows and aspect models cells: together, all count cells."""
    models = [fz.AspectBernoulli(2, prior=0), fz.BernoulliMixture(2), fz.NoisyOr(2, max_iter=5)]
    found = fz.compare(models, table, "bic", random_state=0)
    assert found.meaning == "BIC (n = 480 observed cells)"
    assert found.meaning in repr(found)
    (mixture,) = found.scores["BernoulliMixture(2)"]
    fit = fz.BernoulliMixture(
        2, random_state=planned(table, models, "bic", 5, 0, None)[0].seed(1, 0)
    )
    fit.fit(table)
    expected = -2 * fit.log_likelihood_ + (2 * 8 + 1) * np.log(480)
    assert mixture == pytest.approx(expected)


def test_a_bic_of_models_that_agree_is_their_own(table):
    by_rows = fz.select(fz.BernoulliMixture(), table, [2], "bic", random_state=0)
    assert by_rows.meaning == "BIC (n = 60 rows)"
    assert by_rows.scores[0, 0] == pytest.approx(by_rows.model.bic())
    holed = table.to_numpy()
    holed[3, :5] = np.nan
    by_cells = fz.select(fz.AspectBernoulli(prior=0), holed, [2], "bic", random_state=0)
    assert by_cells.meaning == "BIC (n = 475 observed cells)"
    assert by_cells.scores[0, 0] == pytest.approx(by_cells.model.bic())


def test_results_say_what_a_row_score_is(table):
    found = fz.select(fz.BernoulliMixture(), table, [1], "rows", n_splits=2, random_state=0)
    assert "(log probability of all cells of a row of a binary table)" in repr(found)
    found = fz.select(fz.PLSA(), table, [1], "rows", n_splits=2, random_state=0)
    assert "(log probability of a row's counts given their total)" in repr(found)


def test_evidence_is_estimated_where_it_can_be_afforded(table, monkeypatch):
    model = fz.BinaryICA(max_iter=50)
    estimated = fz.select(model, table, [1, 2], "evidence", random_state=0)
    assert estimated.meaning == "log evidence (annealed estimate, 4 chains of 300 steps)"
    assert estimated.scores[1, 0] > estimated.model.evidence_
    # 60 x 8 cells and 2 components.
    monkeypatch.setattr(criteria, "_AFFORDABLE", 959)
    bound = fz.select(model, table, [1, 2], "evidence", random_state=0)
    assert bound.meaning == "log evidence (lower bound of the variational fit)"
    assert bound.scores.max() == bound.model.evidence_
    monkeypatch.setattr(criteria, "_AFFORDABLE", 960)
    assert "annealed" in repr(fz.select(model, table, [1, 2], "evidence", random_state=0))


LEAVES_CELLS_OUT = [n for n in REGISTRY if model_class(n)().capabilities.leaves_cells_out]


@pytest.mark.parametrize("name", LEAVES_CELLS_OUT)
@pytest.mark.filterwarnings("ignore")
def test_cells_are_asked_of_every_model_that_can_leave_them_out(name, table):
    small = {"n_components": 2, "max_iter": 40, "n_chains": 1, "warmup": 5, "n_draws": 5}
    model = model_class(name)()
    model.set_params(**{k: v for k, v in small.items() if k in model.get_params()})
    found = fz.compare([model], table, "cells", n_splits=2, random_state=0)
    assert -5 < found.table["cells"][0] < -0.1


def test_models_without_the_number_are_refused_by_name(table):
    with pytest.raises(ValueError, match="BinaryICA has no AIC"):
        fz.select(fz.BinaryICA(), table, [1, 2], "aic")
    with pytest.raises(ValueError, match="BinaryICA has no evidence"):
        fz.select(fz.BinaryICA(inference="em"), table, [1, 2], "evidence")
    with pytest.raises(ValueError, match="BernoulliMixture cannot complete it; criterion='cells'"):
        fz.select(fz.BernoulliMixture(), table, [1, 2], "completion")
    with pytest.raises(ValueError, match="hides cells, and DiscretePCA cannot be fitted without"):
        fz.select(fz.DiscretePCA(), table, [1, 2], "cells")


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_is_documented(name):
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "choosing.md"
    assert f'| `"{name}"` |' in page.read_text()
    assert f'"{name}"' in fz.select.__doc__
    assert CRITERIA[name].sign in (1, -1)
