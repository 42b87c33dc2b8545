"""Several models through one protocol, and whether the best two differ."""

import numpy as np
import pytest
from scipy.stats import ranksums, wilcoxon
from tests.analysis.common import blocks_table

import falsezero as fz
from falsezero.analysis.compare import Comparison
from falsezero.analysis.heldout import score_rows, split_rows
from falsezero.analysis.protocol import planned
from falsezero.data.tidy import Tidy


@pytest.mark.parametrize("criterion", ["cells", "rows"])
def test_compare_finds_the_better_model(criterion):
    X = blocks_table()
    models = {"groups": fz.BernoulliMixture(2, n_init=3), "one group": fz.BernoulliMixture(1)}
    found = fz.compare(models, X, criterion, random_state=0)
    assert found.best == "groups"
    assert found.p_value < 1e-6
    assert found.table["model"].tolist() == ["groups", "one group"]
    assert "signed-rank p =" in repr(found)
    ranked = fz.compare(models, X, criterion, random_state=0, test="rank-sum")
    assert 0.001 < ranked.p_value < 0.05


def test_compare_pairs_rows(table):
    models = [fz.BernoulliMixture(2), fz.AspectBernoulli(2, tol=1e-5)]
    found = fz.compare(models, table, "rows", n_splits=3, random_state=0)
    assert list(found.scores) == ["BernoulliMixture(2)", "AspectBernoulli(2)"]
    plan, _ = planned(table, models, "rows", 3, 0, None)
    parts = split_rows(table, 3, plan.entropy)
    totals = [
        sum(score_rows(plan._seeded(c, f), table, parts[f])[0] for f in range(3)) for c in (0, 1)
    ]
    differences = totals[0] - totals[1]
    assert found.p_value == pytest.approx(wilcoxon(differences).pvalue)


def test_compare_names_equal_models_apart(table):
    models = [fz.BernoulliMixture(2), fz.BernoulliMixture(2, prior=1.0)]
    found = fz.compare(models, table, "bic", random_state=0)
    assert sorted(found.table["model"].tolist()) == [
        "BernoulliMixture(2)",
        "BernoulliMixture(2) #2",
    ]
    assert np.isnan(found.p_value)


@pytest.mark.parametrize("test", ["signed-rank", "rank-sum"])
def test_the_p_value_is_that_of_the_best_two(test):
    models = {
        "worst": fz.BernoulliMixture(1),
        "best": fz.BernoulliMixture(2, n_init=3),
        "second": fz.BernoulliMixture(2, prior=30.0, n_init=3),
    }
    found = fz.compare(models, blocks_table(), "rows", n_splits=3, random_state=0, test=test)
    assert found.table["model"].tolist() == ["best", "second", "worst"]
    plan, _ = planned(blocks_table(), list(models.values()), "rows", 3, 0, None)
    folds = split_rows(plan.table, 3, plan.entropy)
    scored = [
        [score_rows(plan._seeded(c, i), plan.table, fold) for i, fold in enumerate(folds)]
        for c in (1, 2)
    ]
    if test == "rank-sum":
        means = [[total.sum() / count.sum() for total, count in parts] for parts in scored]
        expected = ranksums(*means).pvalue
    else:
        first, second = (sum(total for total, _ in parts) for parts in scored)
        expected = wilcoxon(first - second).pvalue
    assert found.p_value == pytest.approx(expected)


def test_equal_models_do_not_differ(table):
    models = {"a": fz.BernoulliMixture(1), "b": fz.BernoulliMixture(1, max_iter=500)}
    found = fz.compare(models, table, "rows", n_splits=2, random_state=0)
    assert found.p_value == 1.0
    assert found.best == "a", "the first of equals"


def test_one_model_is_compared_with_nothing(table):
    found = fz.compare([fz.BernoulliMixture(2)], table, "rows", n_splits=2, random_state=0)
    assert np.isnan(found.p_value)
    assert "p =" not in repr(found)


def test_smaller_is_better_for_aic(table):
    models = {"one": fz.BernoulliMixture(1), "forty": fz.BernoulliMixture(40)}
    found = fz.compare(models, table, "aic", random_state=0)
    assert found.best == "one"
    assert np.all(np.diff(found.table["aic"]) > 0)
    assert found.model.n_components == 1


def test_summaries_say_how_many_seconds_and_whether_fits_settled(table):
    hasty = fz.BernoulliMixture(2, max_iter=1)
    found = fz.compare([hasty, fz.BernoulliMixture(1)], table, "rows", n_splits=2, random_state=0)
    settled = dict(zip(found.table["model"], found.table["converged"], strict=True))
    assert settled == {"BernoulliMixture(2)": False, "BernoulliMixture(1)": True}
    assert (found.table["seconds"] > 0).all()


def test_equal_names_are_numbered_from_two(table):
    models = [fz.BernoulliMixture(1, prior=p) for p in (0.0, 1.0, 2.0)]
    found = fz.compare(models, table, "bic", random_state=0)
    names = [f"BernoulliMixture(1){end}" for end in ("", " #2", " #3")]
    assert list(found.scores) == names


def test_unknown_tests_and_no_models_are_refused(table):
    with pytest.raises(ValueError, match="test='t' is not known; choose 'signed-rank' or"):
        fz.compare([fz.BernoulliMixture(1)], table, test="t")
    with pytest.raises(ValueError, match=r"compare\(\) needs at least one model"):
        fz.compare([], table)


def test_a_comparison_says_what_it_found():
    tidy = Tidy({"model": ["a", "b"], "rows": [1.0, 0.5]})
    found = Comparison("a", "rows", tidy, 0.012345, "signed-rank", None, {}, "a meaning")
    assert repr(found).splitlines()[:2] == [
        "a is best by rows; against b, signed-rank p = 0.012",
        "a meaning",
    ]
