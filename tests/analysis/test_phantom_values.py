"""The parts of the test for row-wise losses, by hand."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis import phantom_test
from falsezero.analysis.phantom_test import _Fits, _Fitted, _Start, _Steps
from falsezero.data.blocks import Blocks


def a_fit(
    log_likelihood=-10.0, weights=((0.6, 0.4), (0.2, 0.8)), components=((0.9, 0.1), (0.3, 0.5))
):
    return _Fitted(log_likelihood, _Start(np.array(components), np.array(weights)))


def test_a_component_is_added_with_a_tenth_of_every_row():
    start = a_fit().start.with_component(np.array([0.0, 0.0]))
    np.testing.assert_allclose(start.components, [[0.9, 0.1], [0.3, 0.5], [0, 0]])
    np.testing.assert_allclose(start.weights, [[0.54, 0.36, 0.1], [0.18, 0.72, 0.1]])


def test_expected_cells_of_a_fit():
    np.testing.assert_allclose(a_fit().expected, [[0.66, 0.26], [0.42, 0.42]])


def test_a_start_keeps_away_from_the_edge_and_pins_the_last_component():
    blocks = Blocks.cut(np.eye(2))
    start = _Start(np.array([[0.0, 1.0], [0.4, 0.4]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    state, [rows] = _Steps(blocks, start, None, 0.0).init(blocks, None)
    np.testing.assert_allclose(state.components, [[1e-4, 1 - 1e-4], [0.4, 0.4]])
    np.testing.assert_allclose(rows.weights, [[1 / 1.0001, 1e-4 / 1.0001], [0.5, 0.5]])
    for pinned, floor in ((0.0, 1e-12), (1.0, 1 - 1e-12)):
        steps = _Steps(blocks, start, pinned, 0.0)
        state, _ = steps.init(blocks, None)
        np.testing.assert_allclose(state.components[-1], floor, rtol=1e-6)


def test_gains_are_counted_in_standard_deviations():
    found = phantom_test._standardised(9.0, [1.0, 2.0, 3.0])
    assert found == pytest.approx((9 - 2) / 1.0)
    assert phantom_test._standardised(2.0, [1.0, 1.0]) == pytest.approx(1e9)


@pytest.mark.parametrize(("n_columns", "most"), [(40_000, 50), (10, 1000), (100, 100)])
def test_tables_are_tested_by_some_of_their_rows(n_columns, most, monkeypatch):
    monkeypatch.setattr(phantom_test, "_MOST_CELLS", 10_000)
    rng = np.random.default_rng(0)
    shape = np.broadcast_to(0.0, (most, n_columns))
    np.testing.assert_array_equal(phantom_test._tested_rows(shape, rng), np.arange(most))
    longer = np.broadcast_to(0.0, (most + 1, n_columns))
    some = phantom_test._tested_rows(longer, rng)
    assert len(np.unique(some)) == most
    assert (np.diff(some) > 0).all()


def test_drawn_tables_keep_their_gaps():
    values = np.tile([[np.nan, 0.0], [1.0, 1.0]], (1, 1))
    rng = np.random.default_rng(0)
    drawn = np.array([phantom_test._drawn(values, a_fit(), rng) for _ in range(4000)])
    assert np.isnan(drawn[:, 0, 0]).all()
    np.testing.assert_allclose(
        drawn.mean(axis=0)[[0, 1, 1], [1, 0, 1]], [0.26, 0.42, 0.42], atol=0.03
    )


def test_a_freed_phantom_begins_half_way_to_the_column_means(monkeypatch):
    seen = []
    monkeypatch.setattr(phantom_test, "_fit", lambda values, start, *_: seen.append(start))
    values = np.array([[1.0, np.nan], [0.0, 1.0]])
    phantom_test._free(values, a_fit())
    np.testing.assert_allclose(seen[0].components, [[0.9, 0.1], [(0.3 + 0.5) / 2, (0.5 + 1) / 2]])
    phantom_test._add(values, a_fit(), 1.0)
    np.testing.assert_allclose(seen[1].components[-1], [1, 1])


def test_rows_that_were_not_tested_get_their_weights(monkeypatch):
    seen = []
    monkeypatch.setattr(
        phantom_test, "_fit", lambda values, start, pinned: seen.append((start, pinned))
    )
    phantom = a_fit()
    assert phantom_test._all_rows(np.zeros((2, 2)), phantom, 0.0) is phantom
    phantom_test._all_rows(np.zeros((3, 2)), phantom, 0.0)
    start, pinned = seen[0]
    np.testing.assert_allclose(start.weights, [[0.4, 0.6]] * 3)
    assert pinned == 0


class Scripted(_Fits):
    """Fits whose figures are known."""

    def __init__(self, free, shape=(50, 20)):
        super().__init__(np.zeros(shape), 0.0, None)
        self.free = free

    def free_z(self, content):
        return self.free[content]


def test_enough_components_are_those_beside_which_a_phantom_need_not_be_free():
    assert Scripted({1: 9.0, 2: 5.0, 3: 4.9}).enough() == 3
    assert Scripted(dict.fromkeys(range(1, 9), 9.0)).enough() == 5
    assert Scripted({1: 9.0, 2: 9.0}, (50, 4)).enough() == 3
    assert Scripted({1: 9.0}, (50, 2)).enough() == 1


def test_gains_are_differences_of_likelihoods(monkeypatch):
    fits = _Fits(np.zeros((2, 2)), 0.0, None)
    fits._plain = {1: a_fit(-20.0), 2: a_fit(-17.0)}
    fits._phantom = {1: a_fit(-12.0)}
    asked = []

    def fit(values, start, pinned=None, prior=0.0):
        asked.append((pinned, prior))
        return a_fit()

    monkeypatch.setattr(phantom_test, "_fit", fit)
    chance = iter(np.arange(100.0))
    monkeypatch.setattr(phantom_test, "_gain", lambda *_: next(chance))
    number = phantom_test._BOOTSTRAPS
    known = np.arange(float(number))
    expected = (-12 + 20 - known.mean()) / known.std(ddof=1)
    assert fits.gain_z(1) == pytest.approx(expected)
    assert asked == [(None, 1.0)], "tables are drawn from a smoothed fit without the phantom"
    asked.clear()
    chance = iter(np.arange(100.0))
    monkeypatch.setattr(phantom_test, "_freed", lambda *_: next(chance))
    monkeypatch.setattr(phantom_test, "_free", lambda *_: a_fit(-11.5))
    known = np.arange(float(phantom_test._ROUGHLY))
    expected = (-11.5 + 12 - known.mean()) / known.std(ddof=1)
    assert fits.free_z(1) == pytest.approx(expected)
    assert asked == [(0.0, 1.0)]
    # A free fit from elsewhere may be better.
    fits._plain[2] = a_fit(-9.0)
    chance = iter(np.arange(100.0))
    assert fits.free_z(1) == pytest.approx((-9.0 + 12 - known.mean()) / known.std(ddof=1))


@pytest.mark.parametrize(
    ("gain", "free", "found"),
    [(4.1, 4.9, True), (4.0, 0.0, False), (3.9, 0.0, False), (4.1, 5.0, False)],
)
def test_a_phantom_gains_more_than_chance_and_is_not_better_free(gain, free, found, monkeypatch):
    monkeypatch.setattr(_Fits, "gain_z", lambda self, content: gain)
    monkeypatch.setattr(_Fits, "free_z", lambda self, content: free)
    three = _Start(np.array([[0.9, 0.1], [0.3, 0.5], [0.0, 0.0]]), np.array([[0.5, 0.2, 0.3]] * 2))
    monkeypatch.setattr(_Fits, "phantom", lambda self, content: _Fitted(-1.0, three))
    test = fz.phantom_test(np.eye(2), 3, random_state=0)
    assert test.found is found
    assert test.n_content == 2
    assert test.free_z == (free if gain > 4 else 0.0)
    np.testing.assert_allclose(test.row_rates, [0.7, 0.7])
    np.testing.assert_allclose(test.column_most, [0.9, 0.5])
    assert ("30%" in test.sentence) is found


@pytest.mark.parametrize(("kind", "pinned", "what"), [("white", 0, "losses"), ("black", 1, "add")])
def test_a_phantom_is_pinned_to_what_it_makes(kind, pinned, what, monkeypatch):
    seen = []

    def gain_z(self, content):
        seen.append((self.pinned, content))
        return 9.0

    monkeypatch.setattr(_Fits, "gain_z", gain_z)
    monkeypatch.setattr(_Fits, "free_z", lambda self, content: 0.0)
    two = _Start(np.array([[0.9, 0.1], [0.0, 0.0]]), np.array([[0.8, 0.2], [0.5, 0.5]]))
    monkeypatch.setattr(_Fits, "phantom", lambda self, content: _Fitted(-1.0, two))
    test = fz.phantom_test(np.eye(2), 2, kind=kind, random_state=0)
    assert seen == [(pinned, 1)]
    assert what in test.sentence
    assert "35%" in test.sentence
    with pytest.raises(ValueError, match="must be two or more"):
        fz.phantom_test(np.eye(2), 1)
    monkeypatch.setattr(_Fits, "gain_z", lambda self, content: 0.0)
    assert what in fz.phantom_test(np.eye(2), 2, kind=kind).sentence


def test_a_phantom_may_improve_the_fit_without_it(monkeypatch):
    fits = _Fits(np.zeros((2, 2)), 0.0, None)
    fits._plain = {2: a_fit(-20.0)}
    three = _Start(np.ones((3, 2)), np.ones((2, 3)))
    monkeypatch.setattr(phantom_test, "_add", lambda *_: _Fitted(-12.0, three))
    heights, starts = iter([-15.0, -30.0]), []

    def fit(values, start, *_):
        starts.append(start)
        return a_fit(next(heights))

    monkeypatch.setattr(phantom_test, "_fit", fit)
    assert fits.phantom(2).log_likelihood == -12
    assert fits.plain(2).log_likelihood == -15
    assert starts[0].components.shape == (2, 2)
    assert starts[0].weights.shape == (2, 2)
    assert fits.phantom(2).log_likelihood == -12, "made once"
    fits._phantom.clear()
    fits.phantom(2)
    assert fits.plain(2).log_likelihood == -15, "a worse one is not taken"
