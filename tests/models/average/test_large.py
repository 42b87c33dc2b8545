"""Averages of tables with too many cells to visit, on tables small enough to visit them anyway."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

import falsezero as fz
from falsezero.models.average import large
from falsezero.models.average.average import StackedAverage
from falsezero.models.average.large import CellOdds, stored_cells


@pytest.fixture(scope="module")
def table():
    return fz.datasets.make_aspect_bernoulli(300, 25, 3, random_state=0).table.values


@pytest.fixture(scope="module")
def fitted(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 1000)
        return StackedAverage(random_state=0).fit(table)


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(large, "LARGE", 1000)
    monkeypatch.setattr(large, "_ROWS_AT_A_TIME", 64)


def whole(odds, shape):
    rows, columns = np.indices(shape).reshape(2, -1)
    return odds.at(rows, columns).reshape(shape)


def test_only_members_that_know_cells_take_part(fitted):
    assert fitted.feature_names_ == [
        "AspectBernoulli, few components",
        "AspectBernoulli, many components",
        "Margins",
        "popularity",
    ]
    assert {draw.scheme for draw in fitted.draws_} == {"cells", "rows"}
    assert all(draw.n_tried == 300 for draw in fitted.draws_)


def test_cells_have_the_log_odds_of_their_rows(fitted, table, everything_is_large):
    odds = fitted.cell_odds(table.shape)
    rows = np.arange(table.shape[0])
    by_row = fitted.log_odds(table.astype(np.float32), rows)
    np.testing.assert_allclose(whole(odds, table.shape), by_row, atol=1e-4)


def test_a_table_of_moderate_size_has_none(fitted, table):
    assert fitted.cell_odds(table.shape) is None


@pytest.mark.parametrize(
    "weights",
    [
        [0.5, 0.7, 0.2, 0.1],
        [1.5, -0.4, 0.3, -0.2],
        [-0.3, 1.2, -0.5, 0.9],
        [-0.3, -0.2, 0.9, 0.5],
        [0.2, 0.1, 0.0, 3.0],
    ],
)
@pytest.mark.parametrize("intercept", [0.5, 2.0])
def test_the_search_finds_all_zeros_above_one_half(
    fitted, table, everything_is_large, weights, intercept
):
    odds = CellOdds(fitted.members_, fitted.rates_, intercept, np.array(weights), 0.9)
    cells = whole(odds, table.shape)
    expected = np.argwhere((cells > 0) & (table.toarray() == 0))
    parts = list(odds.surprising(table.astype(np.float32)))
    rows, columns, found = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((columns, rows))
    assert len(expected)
    np.testing.assert_array_equal(np.column_stack([rows, columns])[order], expected)
    np.testing.assert_allclose(found[order], cells[tuple(expected.T)])


def test_the_search_passes_over_most_cells(fitted, table, everything_is_large):
    odds = CellOdds(fitted.members_, fitted.rates_, -0.5, np.array([0.5, 0.5, 0.0, 0.0]), 0.9)
    rows = np.arange(64)
    at, _ = odds._candidates(rows, table[rows].astype(np.float32))
    assert 0 < len(at) < 0.3 * 64 * table.shape[1]


def test_sampled_cells_stand_for_all(fitted, table):
    odds = CellOdds(fitted.members_, fitted.rates_)
    rows, columns, weight = odds.sample(np.arange(300), 200, np.random.default_rng(0))
    assert np.bincount(rows).tolist() == [200] * 300
    p = expit(whole(odds, table.shape))
    by_column = np.bincount(columns, weight * p[rows, columns], table.shape[1])
    np.testing.assert_allclose(by_column, p.sum(axis=0), rtol=0.1, atol=1.0)
    by_row = np.bincount(rows, weight * p[rows, columns])
    np.testing.assert_allclose(by_row, p.sum(axis=1), rtol=0.4)
    assert by_row.sum() == pytest.approx(p.sum(), rel=0.01)


def test_stored_cells_are_told_from_zeros():
    table = sparse.csr_array(np.array([[0, 1, 0], [0, 0, 0], [1, 0, np.nan]]))
    rows, columns = np.indices(table.shape).reshape(2, -1)
    found = stored_cells(table, rows, columns).reshape(table.shape)
    assert found.tolist() == [[False, True, False], [False] * 3, [True, False, True]]
    assert not stored_cells(table[[1]], np.zeros(3, int), np.arange(3)).any()


def test_margins_stay_away_from_missing_cells(table):
    spoilt = table.copy()
    spoilt.data[:3] = np.nan
    names = [member.name for member in large.large_members(spoilt)]
    assert "Margins" not in names
    assert len(names) == 2


def test_members_of_ones_own_that_need_whole_rows_are_visited_cell_by_cell(
    table, everything_is_large
):
    model = StackedAverage([("ease", fz.EASE())], random_state=0).fit(table)
    assert model.cell_odds(table.shape) is None
    assert model.draws_[0].n_tried is None
