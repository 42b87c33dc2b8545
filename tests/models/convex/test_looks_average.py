"""Averages of models of repeated looks: the line that corrects them, and who is averaged."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.models.convex import looks_average
from falsezero.models.convex.look_draws import Answers
from falsezero.models.convex.looks_average import LooksAverage, hold_out_last_look


def test_the_last_look_of_chosen_rows_is_held_out():
    values = np.zeros((3, 3, 2))
    values[0] = [[1, 0], [0, 1], [1, 0]]
    values[1] = [[1, 0], [0, 1], [np.nan, np.nan]]
    values[2, 1:] = np.nan
    dates = {"date": np.arange(9).reshape(3, 3)}
    held = hold_out_last_look(fz.Looks(values, variables=dates), np.full(3, True), None)
    assert held.next_look["date"].tolist() == [2, 4, 6]
    # The third row was looked at once, so nothing of it is held out.
    assert list(zip(held.rows, held.columns, held.hit, strict=True)) == [
        *((0, 0, True), (0, 1, False), (1, 0, False), (1, 1, True)),
    ]
    np.testing.assert_array_equal(held.looks.tries[0, :, 0], [1, 1, 0])
    np.testing.assert_array_equal(held.looks.tries[1, :, 0], [1, 0, 0])
    np.testing.assert_array_equal(held.looks.tries[2, :, 0], [1, 0, 0])
    assert held.looks.ones.sum() == 1 + 1 + 1 + 0
    some = hold_out_last_look(fz.Looks(values), np.array([False, True, False]), None)
    assert some.rows.tolist() == [1, 1]


def test_of_looks_that_were_counted_one_is_drawn():
    ones, tries = np.full((400, 1, 1), 3), np.full((400, 1, 1), 4)
    rng = np.random.default_rng(0)
    held = hold_out_last_look(fz.Looks(ones, tries), np.full(400, True), rng)
    assert held.hit.mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.1875 / 400))
    np.testing.assert_array_equal(held.looks.ones[:, 0, 0], 3 - held.hit)
    np.testing.assert_array_equal(held.looks.tries, 3)
    half = hold_out_last_look(fz.Looks(ones, tries), np.full(400, True), None)
    assert half.hit.all()


def test_the_line_is_the_most_probable_one():
    rng = np.random.default_rng(0)
    present, rate = rng.uniform(0.05, 0.6, 40), rng.uniform(0.3, 0.9, 40)
    hit = rng.random(40) < 0.3

    def less(line):
        total = 0.5 * line[0] ** 2 + 0.5 * ((line[1] - 1) / 0.5) ** 2
        for p, r, x in zip(present, rate, hit, strict=True):
            seen = expit(line[0] + line[1] * logit(p)) * r
            total -= np.log(seen if x else 1 - seen)
        return total

    best = minimize(less, [0.2, 0.8], tol=1e-9).x
    np.testing.assert_allclose(looks_average._learn_level(present, rate, hit), best, atol=1e-3)


class Known:
    """A model with answers of its own."""

    def __init__(self, present, again):
        self.answers = np.array(present), np.array(again)
        self.detection_ = np.array([again[0][0], again[0][1]])

    def _answers(self, looks, next_look):
        none = np.zeros((1, 2), dtype=int)
        return Answers(*self.answers, self.answers[1], none, none)


def test_answers_are_means_corrected_where_nothing_was_seen():
    average = LooksAverage()
    average.models_ = [
        Known([[0.2, 0.4], [1.0, 0.3]], [[0.1, 0.2], [0.5, 0.1]]),
        Known([[0.4, 0.4], [1.0, 0.5]], [[0.3, 0.2], [0.7, 0.3]]),
    ]
    average.level_ = np.array([0.3, 0.8])
    looks = fz.Looks([[[0, np.nan]], [[1, 0]]])
    present, again, expected, by_columns, by_rows = average.answers(looks)
    first, last = expit(0.3 + 0.8 * logit(0.3)), expit(0.3 + 0.8 * logit(0.4))
    np.testing.assert_allclose(present, [[first, 0.4], [1, last]])
    np.testing.assert_allclose(again, [[first * 0.2 / 0.3, 0.2], [0.6, last * 0.5]])
    np.testing.assert_allclose(expected, [[0.2, 0.2], [0.6, 0.2]])
    assert by_columns.shape == by_rows.shape == (2, 2)
    np.testing.assert_array_equal(average.present(looks), present)
    np.testing.assert_array_equal(average.again(looks), again)
    np.testing.assert_allclose(average.detection_, [0.2, 0.2])


@pytest.fixture(name="looks", scope="module")
def _looks():
    return fz.datasets.make_looks(12, 5, 3, 2, random_state=0).looks


def test_few_looks_are_drawn_and_many_are_fitted(looks, monkeypatch):
    """The rule goes by rows x looks x columns alone."""
    monkeypatch.setattr(looks_average, "_DRAWS", 2)
    ways = []
    for most in (12 * 3 * 5, 12 * 3 * 5 - 1):
        monkeypatch.setattr(looks_average, "MOST_DRAWN", most)
        average = LooksAverage((1,), tol=1e-2, random_state=0).fit(looks)
        ways.append(average.inference_)
        assert average.models_[0].inference == average.inference_
    assert ways == ["gibbs", "vb"]
    assert LooksAverage((1,), inference="gibbs", random_state=0).fit(looks).inference_ == "gibbs"
    with pytest.raises(ValueError, match="The 'inference' parameter of LooksAverage must be"):
        LooksAverage(inference="em").fit(looks)


def test_variational_fits_take_the_spread_that_draws_have_learnt(looks):
    average = LooksAverage((1, 2, 5, 6), inference="vb", tol=1e-2, random_state=0).fit(looks)
    assert [model.n_components for model in average.models_] == [1, 2, 5]
    drawn = fz.RepeatedLooks(
        2, inference="gibbs", heterogeneity="learn", n_draws=50, tol=1e-4,
        random_state=average._seed,
    )  # fmt: skip
    spread = drawn.fit(looks).heterogeneity_
    assert all(model.heterogeneity == spread for model in average.models_)
    assert len({model.row_effects for model in average.models_}) == 1
    assert LooksAverage((9,), tol=1e-2, random_state=0).fit(looks).models_[0].n_components == 1
    with pytest.raises(DataError, match="No cell was looked at twice"):
        LooksAverage().fit(looks.select(looks=looks.looks[:1]))


def test_what_is_known_of_rows_is_used(looks):
    known = fz.Looks(looks.to_numpy(), row_variables={"height": np.arange(12.0)})
    for inference in ("gibbs", "vb"):
        average = LooksAverage((1, 2), inference=inference, tol=1e-2, random_state=0).fit(known)
        assert all(model.row_terms_ is not None for model in average.models_)


def test_draws_are_not_corrected_and_rows_differ_in_every_other_model(looks, monkeypatch):
    monkeypatch.setattr(looks_average, "_DRAWS", 2)
    average = LooksAverage((1, 2, 3), random_state=0).fit(looks)
    np.testing.assert_array_equal(average.level_, [0, 1])
    assert [model.row_effects for model in average.models_] == [True, False, True]
    assert [model.row_detection for model in average.models_] == [False, True, False]
    for model in average.models_:
        assert (model.inference, model.heterogeneity, model.n_draws) == ("gibbs", "learn", 2)
    assert average.detection_draws_.shape == (6, 5)


def test_intervals_are_quantiles_of_all_draws(looks, monkeypatch):
    monkeypatch.setattr(looks_average, "_DRAWS", 4)
    average = LooksAverage((1, 2), random_state=0).fit(looks)
    found = average.answers(looks)
    table = average.intervals(looks, 0.5)
    low, high = np.quantile(average.detection_draws_, (0.25, 0.75), axis=0)
    np.testing.assert_allclose(table["detection_low"], low)
    np.testing.assert_allclose(table["detection_high"], high)
    np.testing.assert_allclose(table["occupied"], found.present.sum(axis=0))
    drawn = np.sort(found.by_columns, axis=0)
    assert len(drawn) == 8
    np.testing.assert_array_equal(table["occupied_low"], drawn[1])
    np.testing.assert_array_equal(table["occupied_high"], drawn[6])
    rows = average.intervals(looks, by="rows", answers=found)
    np.testing.assert_array_equal(rows["row"], np.arange(12))
    assert "detection" not in rows.columns
    with pytest.raises(DataError, match=r"level=2 must lie between 0 and 1"):
        average.intervals(looks, 2)


def test_variational_intervals_are_means_around_the_corrected_number(looks):
    average = LooksAverage((1, 2), inference="vb", tol=1e-2, random_state=0).fit(looks)
    table, tables = average.intervals(looks), [m.intervals(looks) for m in average.models_]
    for name in ("detection", "detection_low", "detection_high"):
        np.testing.assert_allclose(table[name], (tables[0][name] + tables[1][name]) / 2)
    np.testing.assert_allclose(table["occupied"], average.present(looks).sum(axis=0))
    assert (table["seen"] <= table["occupied_low"]).all()
    assert (table["occupied_low"] <= table["occupied"]).all()
    assert (table["occupied"] <= table["occupied_high"]).all()
    assert (table["occupied_high"] <= 12).all()


class Judged:
    """A fit with a given objective."""

    def __init__(self, objective):
        self.objective_ = objective

    def fit(self, looks):
        return self


@pytest.mark.parametrize(("gain", "expected"), [(1.19, False), (1.21, True)])
def test_rows_differ_where_the_evidence_gains_a_tenth_a_row(gain, expected, looks, monkeypatch):
    average = LooksAverage()
    average._sizes = [2, 4, 8]
    asked = []

    def model(size, row_effects, **options):
        asked.append((size, row_effects, options))
        return Judged(-50.0 + gain * row_effects)

    monkeypatch.setattr(average, "_model", model)
    assert average._rows_differ(looks, {}) is expected
    assert asked == [(4, differ, {"row_variables": []}) for differ in (False, True)]


@pytest.mark.parametrize("n_rows", [9, 2])
def test_the_level_is_learnt_from_last_looks_after_zeros(n_rows, monkeypatch):
    """Every row gives up its last look once; what it had seen before must be nothing."""
    rng = np.random.default_rng(0)
    values = (rng.random((n_rows, 3, 4)) < 0.4).astype(float)
    present = rng.uniform(0.1, 0.9, (n_rows, 4))
    present[0, 0] = 0.0
    again, given = present * rng.uniform(0.2, 0.8, (n_rows, 4)), {}

    def learn(present, rate, hit):
        given.update(present=present, rate=rate, hit=hit)
        return np.array([0.3, 0.9])

    average = LooksAverage()
    monkeypatch.setattr(average, "_fitted", lambda looks, begin: looks)
    answers = Answers(present, again, again, None, None)
    asked = []

    def mean_answers(models, looks, next_look):
        asked.append(next_look)
        return answers

    monkeypatch.setattr(looks_average, "_mean_answers", mean_answers)
    monkeypatch.setattr(looks_average, "_learn_level", learn)
    folds, rng = min(3, n_rows), np.random.default_rng(5)
    dates = np.arange(3.0 * n_rows).reshape(n_rows, 3)
    looks = fz.Looks(values, variables={"date": dates})
    level = average._held_out_level(looks, rng, folds, begin=None)
    assert level.tolist() == [0.3, 0.9]
    assert len(asked) == folds
    for next_look in asked:
        np.testing.assert_array_equal(next_look["date"], dates[:, 2])
    fold = np.random.default_rng(5).permutation(n_rows) % folds
    expected = [
        (present[n, t], again[n, t] / max(present[n, t], 1e-6), bool(values[n, 2, t]))
        for i in range(folds)
        for n in np.flatnonzero(fold == i)
        for t in range(4)
        if values[n, :2, t].sum() == 0
    ]
    found = list(zip(given["present"], given["rate"], given["hit"], strict=True))
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float))


def test_no_answer_divides_by_nothing():
    average = LooksAverage()
    average.models_ = [Known([[0.0, 1e-8]], [[0.0, 1e-8]])]
    average.level_ = np.array([0.0, 1.0])
    present, again, *_ = average.answers(fz.Looks([[[0, 0]]]))
    np.testing.assert_allclose(present, [[1e-6, 1e-6]])
    np.testing.assert_allclose(again, [[0.0, 1e-6 * 1e-8 / 1e-6]])
    average.models_ = [Known([[0.5, 0.5]], [[0.9, 0.9]])]
    assert average.again(fz.Looks([[[1, 1]]])).tolist() == [[0.9, 0.9]]
    average.level_ = np.array([9.0, 1.0])
    assert average.again(fz.Looks([[[0, 0]]])).tolist() == [[1.0, 1.0]], "no more than certain"


def test_a_choice_of_rows_is_judged_but_all_are_fitted(looks, monkeypatch):
    given = {}

    def differ(self, some, options):
        given["judged"], given["options"] = some, options
        return True

    def level(self, some, rng, folds, begin):
        given["level"] = some
        return np.array([0.1, 0.8])

    def fitted(self, whole, begin):
        given["fitted"] = whole
        return []

    for name, work in (("_rows_differ", differ), ("_held_out_level", level), ("_fitted", fitted)):
        monkeypatch.setattr(LooksAverage, name, work)
    options = {"inference": "vb", "max_rows": 7, "tol": 1e-3, "random_state": 0}
    average = LooksAverage((2, 5, 6), **options).fit(looks)
    assert len(given["judged"]) == len(given["level"]) == 7
    assert given["fitted"] is looks
    spread = given["options"]["heterogeneity"]
    assert given["options"] == {"heterogeneity": spread, "tol": 1e-3}
    assert average._options == given["options"] | {"row_effects": True}
    assert average._sizes == [2, 5]
    np.testing.assert_array_equal(average.level_, [0.1, 0.8])
    assert 0 <= average._seed < 2**31


def test_the_spread_is_learnt_from_as_many_rows_as_can_be_drawn(looks, monkeypatch):
    """Twelve rows of three looks at five columns."""

    class EnoughError(Exception):
        pass

    def fit(self, some):
        raise EnoughError(len(some))

    monkeypatch.setattr(fz.RepeatedLooks, "fit", fit)
    for most, fewest, expected in ((15 * 8, 1, 8), (15 * 8, 9, 9), (15 * 13, 1, 12)):
        monkeypatch.setattr(looks_average, "MOST_DRAWN", most)
        monkeypatch.setattr(looks_average, "_FEWEST", fewest)
        with pytest.raises(EnoughError) as stop:
            LooksAverage((2,), inference="vb", random_state=0).fit(looks)
        assert stop.value.args == (expected,)
