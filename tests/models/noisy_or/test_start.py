"""Where a noisy-or fit begins, function by function."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.models.noisy_or import start
from falsezero.models.noisy_or.start import is_needed, missed
from falsezero.models.noisy_or.steps import NoisyOrState, TruncatedSteps


def blocks_of(table, rows=None):
    return Blocks.cut(sparse.csr_array(np.asarray(table, dtype=float)), rows or len(table))


def a_run(posterior, theta, odds):
    """What a short run ended with."""
    state = NoisyOrState(np.array(theta), np.zeros(len(theta[0])), np.array(odds), 0)
    parts = np.array_split(np.array(posterior), 2)
    point = Point(state, [SimpleNamespace(posterior=part) for part in parts])
    return SimpleNamespace(point=point, objective=0.0)


def test_what_is_missed_without_a_source():
    posterior = np.array([[0.5, 0.0, 1.0], [0.9, 0.25, 0.2]])
    expected = [np.log(2) + np.log(10), np.log(4 / 3), np.log(1e9) + np.log(1.25)]
    np.testing.assert_allclose(missed(posterior), expected, rtol=1e-6)


def test_a_source_is_needed_where_it_gains_more_than_its_links_cost():
    # Links are loadings of 0.05 and more; each costs half log(rows), and so does the prior.
    loadings = np.array([[0.05, 0.9, 0.049], [0.0, 0.049, 0.0], [0.0, 0.0, 0.3]])
    price = 0.5 * np.array([2 + 1, 0 + 1, 1 + 1]) * np.log(100)
    for factor, expected in ((1.01, True), (0.99, False)):
        # Fifty of a hundred rows are seen, so what they say counts twice.
        half = np.tile(1 - np.exp(-price * factor / 100), (50, 1))
        assert is_needed(half, loadings, 100).tolist() == [expected, False, expected]


def test_the_sources_missed_least_are_left_out():
    run = a_run([[0.9, 0.1, 0.5]] * 4, [[1.0, 2], [3, 4], [5, 6]], [0.1, 0.2, 0.3])
    state = start._without(run, 1)
    np.testing.assert_array_equal(state.theta, [[1, 2], [5, 6]])
    np.testing.assert_array_equal(state.odds, [0.1, 0.3])
    assert start._without(run, 2).odds.tolist() == [0.1]


def test_sources_not_worth_their_links_are_shut_off():
    run = a_run([[1.0, 0.01]] * 40, [[1.0, 2.0], [3.0, 4.0]], [0.1, 0.2])
    state = start._shut_off(run, 40)
    np.testing.assert_array_equal(state.theta, [[1, 2], [0, 0]])
    np.testing.assert_array_equal(state.odds, [0.1, -np.inf])


def test_seeds_are_loadings_of_rows_above_a_small_leak():
    table = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]] * 3)
    rng = np.random.default_rng(0)
    state = start._seeded(blocks_of(table), 2, rng)
    loadings, leak = -np.expm1(-state.theta), -np.expm1(-state.leak)
    mean = 3.5 / 7
    np.testing.assert_allclose(leak, 0.5 * mean)
    np.testing.assert_allclose(np.exp(state.odds), 0.25)
    assert state.hold > 100
    on = loadings > 0.5
    assert sorted(map(tuple, on.astype(int))) == [(0, 0, 1, 1), (1, 1, 0, 0)]
    low, high = loadings[~on], loadings[on]
    assert ((high >= 0.6) & (high <= 0.62)).all()
    assert ((low >= 0.05 * mean) & (low <= 0.05 * mean + 0.02)).all()
    assert np.ptp(np.concatenate([high - 0.6, low - 0.05 * mean])) > 0.005


def test_seeds_are_short_rows_far_from_each_other():
    pairs = np.kron(np.eye(4), np.ones((3, 2)))
    long = np.ones((3, 8))
    single = np.eye(8)[:2]
    rows = sparse.csr_array(np.concatenate([pairs, long, single]))
    for seed in range(5):
        chosen = start._far_apart(rows, 4, np.random.default_rng(seed))
        np.testing.assert_array_equal(chosen.sum(axis=1), 2)
        np.testing.assert_array_equal(chosen.sum(axis=0), 1)
    ones = sparse.csr_array(np.eye(3))
    assert start._far_apart(ones, 3, np.random.default_rng(0)).sum(axis=1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("n_sources", [1, 5])
def test_each_seed_is_the_row_furthest_from_those_before(n_sources):
    """The same draws, by dense cosines."""
    table = (np.random.default_rng(0).random((40, 9)) < 0.3).astype(float)
    found = start._far_apart(sparse.csr_array(table), n_sources, np.random.default_rng(2))
    rng, ones = np.random.default_rng(2), table.sum(axis=1)
    middle = np.median(ones[ones >= 2])
    few = [n for n in range(40) if 2 <= ones[n] <= middle]
    pool = table[rng.permutation(few)]
    nearest, chosen = np.full(len(pool), -1.0), [0]
    for _ in range(n_sources - 1):
        last = pool[chosen[-1]]
        for i, row in enumerate(pool):
            cosine = row @ last / np.sqrt(row.sum() * last.sum())
            nearest[i] = max(nearest[i], cosine)
        chosen.append(np.argmin(nearest + 1e-6 * rng.random(len(pool))))
    np.testing.assert_array_equal(found, pool[chosen])


def test_rows_without_ones_are_seeds_where_there_is_nothing_else():
    nothing = sparse.csr_array(np.zeros((5, 3)))
    np.testing.assert_array_equal(start._far_apart(nothing, 2, np.random.default_rng(0)), 0)


def test_seeds_have_their_loadings_and_the_rest_a_trace():
    table = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]] * 2)
    found = start._seeded(blocks_of(table), 2, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    rows = start._far_apart(sparse.csr_array(table), 2, rng)
    loadings = np.where(rows > 0, 0.6, 0.05 * 4.5 / 7) + 0.02 * rng.random((2, 4))
    np.testing.assert_allclose(1 - np.exp(-found.theta), loadings)
    np.testing.assert_allclose(1 - np.exp(-found.leak), 0.5 * 4.5 / 7)


def test_so_many_steps_are_taken():
    blocks = blocks_of((np.random.default_rng(0).random((20, 4)) < 0.4).astype(float))
    steps = TruncatedSteps(2, blocks)
    state = steps.boxed(start._seeded(blocks, 2, np.random.default_rng(0)))
    for count in (1, 3):
        run = start._advance(steps, blocks, state._replace(hold=9), count)
        assert run.point.state.hold == 9 - count
        assert run.point.local[0].turn == count


def test_at_most_so_many_rows_are_candidates(monkeypatch):
    monkeypatch.setattr(start, "_POOL", 2)
    rows = sparse.csr_array(np.kron(np.eye(4), np.ones((3, 2))))
    chosen = start._far_apart(rows, 4, np.random.default_rng(0))
    assert len(np.unique(chosen, axis=0)) <= 2


def test_some_rows_are_drawn_in_their_order():
    rng = np.random.default_rng(0)
    table = (rng.random((30, 6)) < 0.5).astype(float)
    table[:, 0] = np.arange(30) % 2
    table[4:9, 1] = np.nan
    blocks = blocks_of(table, rows=7)
    [whole] = start._some_rows(blocks, 30, np.random.default_rng(1))
    np.testing.assert_array_equal(whole.csr.toarray(), np.nan_to_num(table))
    np.testing.assert_array_equal(whole.missing_csr.toarray(), np.isnan(table))
    [some] = start._some_rows(blocks, 29, np.random.default_rng(1))
    picked = np.sort(np.random.default_rng(1).choice(30, 29, replace=False))
    np.testing.assert_array_equal(some.csr.toarray(), np.nan_to_num(table)[picked])
    np.testing.assert_array_equal(some.missing_csr.toarray(), np.isnan(table)[picked])
    complete = start._some_rows(blocks_of(table[10:], rows=7), 100, np.random.default_rng(1))
    assert complete[0].missing_csr is None


@pytest.mark.parametrize(("n_columns", "expected"), [(10, 1000), (700, 1400), (3000, 4000)])
def test_the_search_sees_a_bounded_number_of_rows(n_columns, expected, monkeypatch):
    blocks = SimpleNamespace(shape=(9, n_columns))
    asked = []

    def some_rows(given, count, rng):
        asked.append(count)
        return given

    runs = iter([-3.0, -1.0, -2.0])
    monkeypatch.setattr(start, "_some_rows", some_rows)
    monkeypatch.setattr(start, "TruncatedSteps", lambda n, some: None)
    monkeypatch.setattr(start, "_thinned", lambda *_: SimpleNamespace(objective=next(runs)))
    monkeypatch.setattr(start, "_shut_off", lambda run, n_rows: (run.objective, n_rows))
    assert start.search_sources(4, blocks, None) == (-1.0, 9), "the best of three runs"
    assert asked == [expected]


@pytest.mark.parametrize(("n_sources", "spare"), [(1, 2), (5, 4), (20, 12)])
def test_the_search_begins_with_half_as_many_again(n_sources, spare, monkeypatch):
    monkeypatch.setattr(start, "_seeded", lambda blocks, n, rng: n)
    history = []

    def advance(steps, blocks, state, count):
        history.append((state, count))
        n = state if isinstance(state, int) else 0
        point = SimpleNamespace(state=SimpleNamespace(_replace=lambda hold: -hold, n=n))
        return SimpleNamespace(point=point, n=n)

    monkeypatch.setattr(start, "_advance", advance)
    monkeypatch.setattr(start, "_without", lambda run, leave: run.n - leave)
    steps = SimpleNamespace(n_components=n_sources, boxed=lambda n: n)
    start._thinned(steps, None, None)
    assert history[0] == (n_sources + spare, 15)
    assert history[-2] == (n_sources, 3)
    assert history[-1] == (0, 15), "at the end the leak is free"
    assert len(history) == 2 + min(spare, 8)
