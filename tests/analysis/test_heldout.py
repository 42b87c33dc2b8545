"""What is hidden, and what a model is given for it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import poisson
from tests.analysis.common import blocks_table

import falsezero as fz
from falsezero.analysis import heldout
from falsezero.analysis.heldout import (
    FLOOR,
    cell_log_probability,
    hide_cells,
    score_cells,
    score_completion,
    score_rows,
    split_rows,
)
from falsezero.base.bags import split_tokens


def test_every_observed_cell_is_hidden_once():
    X = np.array([[1.0, np.nan, 0], [0, 1, 1], [np.nan, 0, 1], [1, 1, 0]])
    table = fz.Table(X)
    seen = np.zeros(X.shape)
    for fold in (hide_cells(table, n_splits=3, seed=0, part=i) for i in range(3)):
        seen[fold.rows, fold.columns] += 1
        np.testing.assert_array_equal(X[fold.rows, fold.columns], fold.values)
        hidden = fold.table.to_numpy()
        assert np.isnan(hidden[fold.rows, fold.columns]).all()
        rest = np.ones(X.shape, bool)
        rest[fold.rows, fold.columns] = False
        np.testing.assert_array_equal(hidden[rest], X[rest])
    np.testing.assert_array_equal(seen, ~np.isnan(X))


def test_a_large_table_stays_sparse(monkeypatch):
    monkeypatch.setattr(heldout, "MOST_HIDDEN", 50_000)
    monkeypatch.setattr(heldout, "AT_A_TIME", 50_000)
    table = fz.Table(sparse.random_array((4000, 2000), density=0.002, rng=0) != 0)
    model = fz.AspectBernoulli(2, max_iter=2, tol=1.0, random_state=0).fit(table)
    dense = 8 * table.shape[0] * table.shape[1]
    # Compiled once before memory is watched: the compiler needs some of its own.
    score_cells(model, hide_cells(table, 4, seed=0, part=0), binary=True)
    tracemalloc.start()
    hidden = [hide_cells(table, 4, seed=0, part=i) for i in range(4)]
    total, count = score_cells(model, hidden[0], binary=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < dense / 4
    cells = np.concatenate([part.rows * 2000 + part.columns for part in hidden])
    assert 49_000 < len(np.unique(cells)) == len(cells) <= 50_000
    values = np.concatenate([part.values for part in hidden])
    np.testing.assert_array_equal(values, table.to_numpy().ravel()[cells])
    assert values.mean() == pytest.approx(0.002, rel=0.3)
    p = np.clip(model.reconstruct(hidden[0].table).to_numpy(), FLOOR, 1 - FLOOR)
    p = p[hidden[0].rows, hidden[0].columns]
    expected = np.where(hidden[0].values > 0, np.log(p), np.log1p(-p))
    assert total.sum() == pytest.approx(expected.sum())
    assert count.sum() == len(p)


def test_cells_score_is_the_mean_log_probability_of_hidden_cells(table):
    hidden = hide_cells(table, 4, seed=3, part=1)
    model = fz.AspectBernoulli(2, random_state=0, tol=1e-5)
    total, count = score_cells(model, hidden, binary=True)
    p = np.clip(model.reconstruct(hidden.table).to_numpy(), FLOOR, 1 - FLOOR)
    X = table.to_numpy()
    expected = 0.0
    for n, t in zip(hidden.rows, hidden.columns, strict=True):
        expected += np.log(p[n, t] if X[n, t] else 1 - p[n, t])
    assert total.sum() == pytest.approx(expected)
    assert count.sum() == len(hidden.values)


def test_a_hidden_cell_does_not_speak_for_itself():
    X = blocks_table()
    hidden = hide_cells(fz.Table(X), 5, seed=0, part=0)
    flipped = X.copy()
    flipped[hidden.rows, hidden.columns] = 1 - flipped[hidden.rows, hidden.columns]
    other = hide_cells(fz.Table(flipped), 5, seed=0, part=0)
    a, b = (fz.BernoulliMixture(2, random_state=0).fit(h.table) for h in (hidden, other))
    np.testing.assert_array_equal(
        a.reconstruct(hidden.table).to_numpy(), b.reconstruct(other.table).to_numpy()
    )


def test_counts_are_scored_as_poisson():
    probability = cell_log_probability(np.full(60, 2.5), np.arange(60.0), binary=False)
    assert np.exp(probability).sum() == pytest.approx(1.0)


def test_rows_score_is_score_samples_of_rows_left_out(table):
    parts = split_rows(table, 4, seed=0)
    model = fz.BernoulliMixture(2, random_state=0)
    total, count = score_rows(model, table, parts[2])
    train, test = parts[2]
    again = fz.BernoulliMixture(2, random_state=0).fit(table.to_numpy()[train])
    np.testing.assert_allclose(total[test], again.score_samples(table.to_numpy()[test]))
    assert count.sum() == len(test)
    assert (total[train] == 0).all()


def test_no_cell_counts_for_less_than_the_floor():
    p = np.array([0.0, 1.0, 0.25, 0.25])
    found = cell_log_probability(p, np.array([1.0, 0.0, 1.0, 0.0]))
    expected = [np.log(FLOOR), np.log(FLOOR), np.log(0.25), np.log(0.75)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert FLOOR == 1e-6


def test_counts_are_judged_by_their_mean():
    found = cell_log_probability(np.array([2.5, 0.0]), np.array([3.0, 1.0]), binary=False)
    np.testing.assert_allclose(found, poisson.logpmf([3, 1], [2.5, FLOOR]))


def test_too_few_cells_or_rows_to_split():
    three = fz.Table([[1, 0, 1]])
    with pytest.raises(ValueError, match="3 observed cells cannot be split in 2 parts"):
        hide_cells(three, 2, seed=0, part=0)
    four = hide_cells(fz.Table([[1, 0], [1, 0]]), 2, seed=0, part=0)
    assert len(four.values) == 2
    with pytest.raises(ValueError, match="split in 2 parts by its 1 row; give fewer splits"):
        split_rows(three, 2, seed=0)
    assert len(split_rows(fz.Table(np.eye(2)), 2, seed=0)) == 2


def test_totals_and_numbers_are_kept_by_row():
    X = np.eye(3)
    hidden = hide_cells(fz.Table(X), 2, seed=0, part=1)
    total, count = score_cells(fz.BernoulliMixture(1), hidden, binary=True)
    np.testing.assert_array_equal(count, np.bincount(hidden.rows, minlength=3))
    assert (total[count == 0] == 0).all()
    assert (total[count > 0] < 0).all()


def test_hidden_tokens_are_counted_by_row():
    counts = np.random.default_rng(0).poisson(3.0, (12, 4)).astype(float)
    table = fz.Table(counts)
    fold = split_rows(table, 3, seed=0)[1]
    total, count = score_completion(fz.PLSA(2, random_state=0), table, fold)
    model = fz.PLSA(2, random_state=0).fit(counts[fold[0]])
    np.testing.assert_allclose(total[fold[1]], model.completion_samples(counts[fold[1]]))
    _, hidden = split_tokens(sparse.csr_array(counts[fold[1]]))
    np.testing.assert_array_equal(count[fold[1]], hidden.sum(axis=1))
    assert (count[fold[0]] == 0).all()


def test_rows_at_a_time_make_no_difference(monkeypatch):
    """PLSA has no link, so its cells come from `reconstruct`, a few rows at a time."""
    counts = np.random.default_rng(1).poisson(2.0, (11, 4)).astype(float)
    hidden = hide_cells(fz.Table(counts), 3, seed=0, part=0)
    found = []
    for cells in (4_000_000, 8, 1):
        monkeypatch.setattr(heldout, "AT_A_TIME", cells)
        found.append(score_cells(fz.PLSA(2, random_state=0), hidden, binary=False)[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-4)
