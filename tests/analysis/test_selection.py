import json

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from tests.analysis.common import blocks_table

import falsezero as fz
from falsezero.analysis.memory import Memory
from falsezero.analysis.plan import Task
from falsezero.analysis.selection import size_warning


def test_a_model_that_needs_every_cell_is_sent_to_rows():
    counts = np.random.default_rng(0).poisson(1.0, (30, 5))
    model = fz.DiscretePCA(max_iter=5)
    with pytest.raises(ValueError, match="DiscretePCA cannot be fitted without them; criterion='r"):
        fz.select(model, counts, [2], "cells")
    assert fz.select(model, counts, [2], "rows", n_splits=2).best == 2


def test_what_is_no_model_and_no_number(table):
    with pytest.raises(TypeError, match=r"such as AspectBernoulli\(\), but the class NoisyOr was"):
        fz.select(fz.NoisyOr, table)
    with pytest.raises(TypeError, match="but 'plsa' was given"):
        fz.compare(["plsa"], table)
    with pytest.raises(ValueError, match="n_components='2-5' names no candidate; give whole numb"):
        fz.select(fz.BernoulliMixture(), table, "2-5")
    assert fz.select(fz.BernoulliMixture(), table, 2, "bic").best == 2


def test_more_components_than_the_table_can_tell_apart(table):
    with pytest.warns(UserWarning, match="17 components are more than a table of 120 × 16 cells"):
        fz.select(fz.AspectBernoulli(max_iter=2), table, [2, 17], "aic", random_state=0)


@pytest.mark.parametrize("criterion", ["cells", "rows", "aic", "bic"])
def test_the_right_number_of_groups_is_chosen(criterion):
    model = fz.BernoulliMixture(n_init=3)
    choice = fz.select(model, blocks_table(), range(1, 5), criterion, random_state=0)
    assert choice.best == 2
    assert choice.model.n_components == 2
    assert choice.table["is_best"].tolist() == [False, True, False, False]
    assert "2 components" in repr(choice)
    assert model.n_components == 5


def test_the_answer_does_not_depend_on_jobs(table):
    options = {"n_components": (1, 2), "criterion": "rows", "n_splits": 3, "random_state": 0}
    one, two = (fz.select(fz.BernoulliMixture(), table, n_jobs=n, **options) for n in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.model.components_, two.model.components_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_table_that_processes_share_is_read_only():
    # From a megabyte on joblib maps arrays into its workers, where nobody may write to them.
    X = (np.random.default_rng(0).random((700, 400)) < 0.6).astype(float)
    model = fz.AspectBernoulli(max_iter=2, random_state=0)
    here, shared = (
        fz.select(model, X, n_components=[1, 2], criterion="aic", random_state=0, n_jobs=jobs)
        for jobs in (1, 2)
    )
    # Mapped arrays begin elsewhere in memory, where sums may be rounded otherwise.
    np.testing.assert_allclose(shared.table["aic"], here.table["aic"], rtol=1e-12)


def test_an_interrupted_choice_goes_on(table, tmp_path, monkeypatch):
    path = tmp_path / "choice.json"
    options = {"n_components": (1, 2, 3), "criterion": "cells", "n_splits": 2, "n_init": 2}
    whole = fz.select(fz.BernoulliMixture(), table, random_state=5, **options)
    fits = []
    original = fz.BernoulliMixture.fit

    def fit(self, X, y=None):
        if len(fits) == 3:
            raise KeyboardInterrupt
        fits.append(self.n_components)
        return original(self, X, y)

    monkeypatch.setattr(fz.BernoulliMixture, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        fz.select(fz.BernoulliMixture(), table, random_state=5, checkpoint=path, **options)
    assert len(json.loads(path.read_text())["outcomes"]) == 3
    fits[:] = []
    monkeypatch.setattr(fz.BernoulliMixture, "fit", original)
    resumed = fz.select(fz.BernoulliMixture(), table, random_state=5, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.scores, whole.scores)
    assert not path.exists()


def test_a_checkpoint_of_something_else_is_refused(table, tmp_path):
    path = tmp_path / "choice.json"
    other = Memory(path, "another table")
    other.entropy = 1
    other.keep(Task(0, 0), {"score": 0.0})
    with pytest.raises(ValueError, match="is a checkpoint of another table or of other settings"):
        fz.select(fz.BernoulliMixture(), table, (1, 2), checkpoint=path)
    path.write_text(path.read_text().replace("0.0", "1.0"))
    with pytest.raises(ValueError, match="or was damaged"):
        fz.select(fz.BernoulliMixture(), table, (1, 2), checkpoint=path)
    path.write_text("not json")
    with pytest.raises(ValueError, match="not a checkpoint"):
        fz.select(fz.BernoulliMixture(), table, (1, 2), checkpoint=path)


def test_thresholds_apply_to_hidden_cells_too():
    grey = blocks_table() * 5
    a = fz.select(fz.BernoulliMixture(binarize=2.0), grey, (1, 2), random_state=0)
    b = fz.select(fz.BernoulliMixture(), grey > 2, (1, 2), random_state=0)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_clear_words(table):
    with pytest.raises(ValueError, match="criterion='aicc' is not known"):
        fz.select(fz.BernoulliMixture(), table, (1, 2), "aicc")
    with pytest.raises(ValueError, match="no evidence"):
        fz.select(fz.BernoulliMixture(), table, (1, 2), "evidence")
    with pytest.raises(ValueError, match="no candidate"):
        fz.select(fz.BernoulliMixture(), table, ())
    with pytest.raises(ValueError, match="fewer splits"):
        fz.select(fz.BernoulliMixture(), np.eye(3), (1, 2), "rows", n_splits=5)


def test_grid_search_works(table):
    grid = {"n_components": [1, 2, 4]}
    search = GridSearchCV(fz.BernoulliMixture(n_init=3, random_state=0), grid, cv=3)
    search.fit(blocks_table())
    assert search.best_params_ == {"n_components": 2}


def test_progress_is_told_on_standard_error(table, capsys):
    fz.select(fz.BernoulliMixture(), table, (1, 2), "bic", random_state=0, verbose=1)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 3
    assert "[2/2] 2 components: bic" in said.err


def test_a_best_number_at_the_edge_is_said(recwarn):
    choice = fz.select(fz.BernoulliMixture(n_init=2), blocks_table(), (1, 2), random_state=0)
    assert choice.best == 2
    said = [str(w.message) for w in recwarn if "largest that was tried" in str(w.message)]
    assert said == [
        "The best number of components, 2, is the largest that was tried, so a better one may lie "
        "beyond; try n_components=range(1, 9)."
    ]


def test_one_component_is_tried_and_phantoms_are_counted(recwarn):
    noise = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(float)
    model = fz.AspectBernoulli(prior=0, tol=1e-4)
    choice = fz.select(model, noise, (1, 2, 3), n_splits=2, random_state=0)
    assert choice.best == 1
    assert "Best: 1 component of AspectBernoulli" in repr(choice)
    assert choice.table["phantoms"].shape == (3,)
    assert not [w for w in recwarn if "was tried" in str(w.message)]
    assert "<table>" in choice._repr_html_()


def test_as_many_components_as_columns_need_no_warning():
    assert size_warning(4, (4, 9)) == ""
    assert size_warning(5, (4, 9)).startswith("5 components are more than a table of 4 × 9 cells")
    assert size_warning(5, (9, 4)) != ""


@pytest.mark.parametrize("n", [2, 3])
def test_standard_errors_are_those_of_a_mean(table, n):
    choice = fz.select(fz.BernoulliMixture(), table, [1, 2], "rows", n_splits=n, random_state=0)
    for scores, row in zip(choice.scores, choice.table.to_rows(), strict=True):
        assert row["standard_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(n))
        assert row["rows"] == pytest.approx(np.mean(scores))
