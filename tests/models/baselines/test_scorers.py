import numpy as np
import pytest
from scipy import sparse
from tests.models.baselines.common import some_table
from tests.reference import scorers as slow

import falsezero as fz
from falsezero.base.scorer import fit_link
from falsezero.data.blocks import Block
from falsezero.models.baselines import implicit_als, row_neighbours


def as_sparse(X):
    """The same table with implicit zeros and stored NaN."""
    result = sparse.csr_array(np.where(X == 0, 0.0, 1.0))
    result.data = X[X != 0]
    return result


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_ease_solves_its_ridge_regressions(missing):
    X = some_table(missing=missing)
    model = fz.EASE(0.3).fit(X)
    rates = np.nanmean(X, axis=0)
    known = np.where(np.isnan(X), rates, X)
    penalty = 0.3 * np.sqrt(np.diag(known.T @ known).mean())
    weights = slow.ease(known, penalty)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-10)
    np.testing.assert_allclose(model.score_cells(X), known @ weights, atol=1e-10)


@pytest.mark.parametrize("kind", [np.asarray, as_sparse])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("count", [1, 4, 40])
def test_row_neighbours_are_the_nearest_other_rows_and_their_equals(count, missing, kind):
    X = some_table(n_rows=30, n_columns=15, missing=missing)
    X[:, 5:] *= np.random.default_rng(0).random((30, 10)) < 0.1
    model = fz.RowNeighbours(count, shrinkage=0.7).fit(kind(X))
    found = model.score_cells(kind(X))
    np.testing.assert_allclose(found, slow.row_neighbours(X, count, 0.7), atol=1e-10)


def test_large_sparse_rows_take_the_same_neighbours():
    X = (np.random.default_rng(0).random((200, 60)) < 0.03).astype(float)
    X = X[np.unique(X, axis=0, return_index=True)[1]]
    found = fz.RowNeighbours(3).fit(as_sparse(X)).score_cells(as_sparse(X))
    np.testing.assert_allclose(found, slow.row_neighbours(X, 3, 1.0), atol=1e-10)


@pytest.mark.parametrize("gaps", ["fitted", "new"])
def test_rows_with_and_without_gaps_are_compared_where_both_were_seen(gaps, monkeypatch):
    monkeypatch.setattr(row_neighbours, "_DENSE_SHARE", 1.0)
    whole, holes = (some_table(n_rows=20, seed=seed, missing=0.1 * seed) for seed in (0, 2))
    X, new = (holes, whole[:6]) if gaps == "fitted" else (whole, holes[:6])
    found = fz.RowNeighbours(8, shrinkage=1e-9).fit(as_sparse(X)).score_cells(as_sparse(new))
    # A new row is the first of a table of its own; a fitted row equal to it counts as itself.
    expected = [slow.row_neighbours(np.vstack([row, X]), 8, 1e-9)[0] for row in new]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_row_is_not_its_own_neighbour():
    X = np.array([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1]])
    scores = fz.RowNeighbours(1, shrinkage=1e-9).fit(X).score_cells(X)
    np.testing.assert_allclose(scores, X[[1, 0, 3, 2]], atol=1e-6)


def test_one_of_two_equal_rows_is_a_neighbour_of_the_other():
    X = np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1]])
    scores = fz.RowNeighbours(1, shrinkage=1e-9).fit(X).score_cells(X)
    np.testing.assert_allclose(scores[:2], X[:2], atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("count", [3, 100])
def test_column_neighbours_are_the_nearest_other_columns(count, missing):
    X = some_table(n_rows=60, missing=missing)
    found = fz.ColumnNeighbours(count).fit(X).score_cells(X)
    np.testing.assert_allclose(found, slow.column_neighbours(X, count), atol=1e-10)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("abundance", ["neither", "joint", "mean", "both"])
def test_beals_is_that_of_vegan(abundance, include):
    X = some_table(n_rows=15, n_columns=7, high=5)
    X[3], X[:, 2] = 0, 0
    options = {"joint": abundance in ("joint", "both"), "mean": abundance in ("mean", "both")}
    binarize = 0.0 if abundance == "neither" else None
    model = fz.Beals(abundance, include_self=include, binarize=binarize).fit(X)
    np.testing.assert_allclose(
        model.score_cells(X), slow.beals(X, include=include, **options), atol=1e-12
    )
    new = some_table(n_rows=6, n_columns=7, high=5, seed=1)
    np.testing.assert_allclose(
        model.score_cells(new), slow.beals(new, X, include=include, **options), atol=1e-12
    )


def test_beals_of_a_worked_example():
    # Sites (a b), (a b c), (c): P(b|a) = 1, P(c|a) = 1/2, P(c|b) = 1/2, P(a|c) = P(b|c) = 1/2.
    X = np.array([[1.0, 1, 0], [1, 1, 1], [0, 0, 1]])
    scores = fz.Beals(include_self=True).fit(X).score_cells(X)
    np.testing.assert_allclose(scores, [[1, 1, 0.5], [5 / 6, 5 / 6, 2 / 3], [0.5, 0.5, 1]])


def test_beals_leaves_unobserved_pairs_out():
    X = np.array([[1.0, 1], [1, np.nan], [1, 0], [0, 1]])
    model = fz.Beals().fit(X)
    np.testing.assert_allclose(model.conditional_, [[1, 1 / 2], [1 / 2, 1]])


def test_dark_diversity_is_that_of_the_paper():
    X = some_table(n_rows=20, n_columns=8)
    X[3], X[:, 2], X[:, 4] = 0, 0, 1
    found = fz.DarkDiversity().fit(X).score_cells(X)
    np.testing.assert_allclose(found, slow.hypergeometric(X), atol=1e-12)


def test_dark_diversity_counts_observed_pairs_only():
    X = some_table(n_rows=30, n_columns=5)
    holes = X.copy()
    holes[:8, 0] = np.nan
    found = fz.DarkDiversity().fit(holes).indication_[0, 1]
    assert found == pytest.approx(slow._indication(X[8:, 0], X[8:, 1]))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_margins_are_the_maximum(missing):
    X = some_table(n_rows=15, n_columns=6, missing=missing)
    X[2] = np.where(np.isnan(X[2]), np.nan, 0)
    model = fz.Margins(0.5).fit(X)
    a, b = model.row_effects_, model.column_effects_
    best = slow.margins_objective(X, a, b, 0.5)
    assert model.objective_ == pytest.approx(best, rel=1e-8)
    for step in np.random.default_rng(0).normal(0, 1e-3, (40, 21)):
        assert slow.margins_objective(X, a + step[:15], b + step[15:], 0.5) <= best + 1e-10
    objective = [turn["objective"] for turn in model.history_]
    assert (np.diff(objective) >= -1e-9).all()
    np.testing.assert_allclose(model.score_cells(X), a[:, None] + b, atol=1e-7)


def test_margins_reproduce_the_margins():
    X = some_table(n_rows=50)
    p = fz.Margins(1e-6).fit(X).reconstruct(X)
    np.testing.assert_allclose(p.sum(axis=0), X.sum(axis=0), atol=1e-2)
    np.testing.assert_allclose(p.sum(axis=1), X.sum(axis=1), atol=1e-2)


def test_the_link_is_calibrated():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 4, 20000)
    link = fit_link(p, (rng.random(p.size) < p).astype(float))
    assert np.abs(link(p) - p).mean() < 0.02


def test_the_link_rises_even_where_scores_mislead():
    scores = np.linspace(0, 1, 100)
    link = fit_link(scores, 1 - scores.round())
    assert (np.diff(link(scores)) > 0).all()
    assert link(scores).mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("kind", [np.asarray, as_sparse])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_least_squares_are_those_of_every_row_and_column(missing, kind):
    X = some_table(n_rows=30, n_columns=9, missing=missing)
    model = fz.ImplicitALS(3, weight=2.0, ridge=1.5, max_iter=4, random_state=1)
    found = model.fit(kind(X)).score_cells(kind(X))
    before = fz.ImplicitALS(3, weight=2.0, ridge=1.5, max_iter=3, random_state=1).fit(kind(X))
    rows = slow.least_squares(X, before.components_, 2.0, 1.5)
    columns = slow.least_squares(X.T, rows.T, 2.0, 1.5)
    np.testing.assert_allclose(model.components_, columns.T, atol=1e-8)
    rows = slow.least_squares(X, model.components_, 2.0, 1.5)
    np.testing.assert_allclose(found, rows @ model.components_, atol=1e-8)


def test_least_squares_of_many_rows_are_taken_in_pieces():
    X = some_table(n_rows=90, n_columns=8)
    whole = fz.ImplicitALS(200, max_iter=2).fit(X)
    assert len(list(implicit_als._pieces([Block(0, X)], whole.components_.T))) > 2
    rows = slow.least_squares(X, whole.components_, 5.0, 10.0)
    np.testing.assert_allclose(whole.score_cells(X), rows @ whole.components_, atol=1e-8)
