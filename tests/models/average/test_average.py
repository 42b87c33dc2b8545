"""The stacked average against its formula: what is hidden, what is said of it, how it adds up."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

import falsezero as fz
from falsezero.models.average import average
from falsezero.models.average.stacking import deal_ones, hide_entries, learn, pick_ones_by_row

FLOOR = 1e-4


def log_odds(p):
    return logit(np.clip(p, FLOOR, 1 - FLOOR))


def rates(table):
    """Shares of ones among the observed cells, half a one and half a zero added."""
    return (np.nansum(table, axis=0) + 0.5) / ((~np.isnan(table)).sum(axis=0) + 1)


@pytest.fixture(scope="module", name="table")
def _table():
    table = fz.datasets.make_aspect_bernoulli(80, 12, 2, random_state=0).table.to_numpy().copy()
    table[3, 2] = table[3, 5] = table[40, 0] = np.nan
    return table.astype(float)


@pytest.fixture(scope="module", name="model")
def _model(table):
    aspects = [fz.AspectBernoulli(k, prior=1, max_iter=30, tol=1.0) for k in (2, 3)]
    members = [("aspects", aspects), ("margins", fz.Margins())]
    return fz.StackedAverage(members, share=0.2, n_trials=2, random_state=0).fit(table)


def said(model, values):
    """What the members and the column rates say of a table that they do not know."""
    aspects, margins = model.members_
    parts = [e.reconstruct(values) for e in aspects.estimators]
    yield (parts[0] + parts[1]) / 2
    yield margins.estimators[0].reconstruct(values)
    yield np.broadcast_to(rates(values), values.shape)


def test_the_average_is_its_formula(model, table):
    other = table[::-1]
    expected = model.intercept_ + sum(
        weight * log_odds(0.8 * p)
        for weight, p in zip(model.weights_, said(model, other), strict=True)
    )
    np.testing.assert_allclose(logit(model.reconstruct(other)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.rates_, rates(table))
    with pytest.raises(ValueError, match="12"):
        model.reconstruct(table[:, 1:])
    assert model.feature_names_ == ["aspects", "margins", "popularity"]
    labelled = model.reconstruct(fz.Table(table, name="finds"))
    assert labelled.name == "finds"
    np.testing.assert_array_equal(labelled.to_numpy(), model.reconstruct(table))


def test_rows_of_the_fit_have_the_weights_of_the_fit(model, table):
    rows = np.array([5, 3])
    aspects, margins = model.members_
    parts = [e.row_weights_[rows] @ e.components_ for e in aspects.estimators]
    expected = model.intercept_ + sum(
        weight * log_odds(0.8 * p)
        for weight, p in zip(
            model.weights_,
            [
                (parts[0] + parts[1]) / 2,
                margins.estimators[0].reconstruct(table)[rows],
                rates(table),
            ],
            strict=True,
        )
    )
    found = model.log_odds(sparse.csr_array(table), rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_table_is_answered_a_few_rows_at_a_time(model, table, monkeypatch):
    some = table[:7]
    whole = model.reconstruct(some)
    for cells, n_rows in ((40, 3), (11, 1)):
        monkeypatch.setattr(average, "_BLOCK_CELLS", cells)
        parts = list(model.expected_by_block(some))
        assert parts[0][1].shape == (n_rows, 12)
        np.testing.assert_allclose(np.concatenate([part for _, part in parts]), whole)


def test_trials_hide_ones_and_ask_the_members(model, table):
    """Each trial again, from its seed, cell by cell."""
    values = sparse.csr_array(table)
    assert [draw.scheme for draw in model.draws_] == ["cells", "cells", "rows"]
    seeds = average.spawn_seeds(0, 4)
    hidden = [
        *deal_ones(values, 0.2, 2, np.random.default_rng(seeds[0])),
        pick_ones_by_row(values, 0.2, np.random.default_rng(seeds[2])),
    ]
    for draw, lost, seed in zip(model.draws_, hidden, seeds, strict=False):
        spoilt = hide_entries(values, lost).toarray()
        zeros = np.argwhere(spoilt == 0)
        np.testing.assert_array_equal(np.column_stack([draw.rows, draw.columns]), zeros)
        np.testing.assert_array_equal(draw.hidden, table[tuple(zeros.T)] == 1)
        np.testing.assert_array_equal(draw.weight, 1)
        assert draw.share == draw.hidden.sum() / np.nansum(table)
        popular = log_odds(rates(spoilt))[draw.columns]
        np.testing.assert_allclose(draw.features[:, -1], popular, rtol=1e-6)
        margins = fz.Margins().fit(spoilt).reconstruct(spoilt)[draw.rows, draw.columns]
        np.testing.assert_allclose(draw.features[:, 1], log_odds(margins), rtol=1e-6)
        again = model._members(table.shape)
        fitted = average.fit_members(again, sparse.csr_array(spoilt), seed, lambda name: None)
        parts = [e.row_weights_ @ e.components_ for e in fitted[0].estimators]
        aspects = ((parts[0] + parts[1]) / 2)[draw.rows, draw.columns]
        np.testing.assert_allclose(draw.features[:, 0], log_odds(aspects), rtol=1e-5)
    own = [int(s.generate_state(1)[0]) for s in seeds[3].spawn(2)]
    assert [e.random_state for e in model.members_[0].estimators] == own
    stack = learn(model.draws_, 10.0)
    assert model.intercept_ == stack.intercept
    np.testing.assert_array_equal(model.weights_, stack.weights)


def test_trials_ask_for_no_weights_that_a_fit_has_found(table, monkeypatch):
    monkeypatch.setattr(fz.AspectBernoulli, "reconstruct", None)
    members = [("aspects", fz.AspectBernoulli(2, max_iter=3, tol=1.0))]
    model = fz.StackedAverage(members, n_trials=1, random_state=0).fit(table)
    assert np.isfinite(model.log_odds(sparse.csr_array(table), np.arange(3))).all()


def holding(ones, n_rows=100, n_columns=200):
    data = np.r_[np.ones(ones), np.full(7, np.nan)]
    return SimpleNamespace(data=data, nnz=ones + 7, shape=(n_rows, n_columns))


def test_trials_hide_enough_ones_or_each_once():
    model = fz.StackedAverage()
    found = {n: model._trials(holding(n)) for n in (0, 2222, 2223, 10_000, 19_999, 20_000)}
    assert found == {0: 10, 2222: 10, 2223: 9, 10_000: 2, 19_999: 2, 20_000: 1}
    assert fz.StackedAverage(share=0.25)._trials(holding(100)) == 4
    assert fz.StackedAverage(share=0.9)._trials(holding(100)) == 1
    assert fz.StackedAverage(n_trials=4)._trials(holding(10)) == 4


def test_large_tables_have_few_trials():
    model = fz.StackedAverage()
    found = {n: model._trials(holding(100, n, 100)) for n in (200, 400, 500, 666, 10**6)}
    assert found == {200: 10, 400: 5, 500: 4, 666: 3, 10**6: 3}


def test_trials_share_the_zeros_that_they_are_learnt_from():
    model = fz.StackedAverage()
    assert [model._zeros(holding(n)) for n in (20_000, 19_999, 5000, 100)] == [
        50_000,
        50_000,
        25_000,
        10_000,
    ]


@pytest.mark.parametrize(("counts", "is_learnt"), [((4, 5), False), ((5, 5), True)])
def test_weights_are_equal_where_too_little_was_hidden(counts, is_learnt, monkeypatch):
    model = fz.StackedAverage(share=0.2, ridge=3.0)
    model.feature_names_ = ["a", "b", "c", "d"]
    model.draws_ = [SimpleNamespace(hidden=np.arange(30) < count) for count in counts]
    monkeypatch.setattr(average, "learn", lambda draws, ridge: (len(draws), ridge))
    if is_learnt:
        assert model._stack() == (2, 3.0)
    else:
        stack = model._stack()
        # At equal weights the members' level, 1 - h of the table's, is taken back.
        assert stack.intercept == pytest.approx(-np.log(0.8))
        np.testing.assert_allclose(stack.weights, 0.25)


def test_a_table_without_ones_has_an_average():
    model = fz.StackedAverage([("margins", fz.Margins())], random_state=0).fit(np.zeros((6, 3)))
    assert {draw.share for draw in model.draws_} == {0.5}
    p = model.reconstruct(np.zeros((6, 3)))
    assert ((p > 0) & (p < 0.2)).all()


def test_zeros_are_sampled_in_large_tables(monkeypatch):
    rng = np.random.default_rng(0)
    table = (rng.random((1000, 5)) < 0.3).astype(float)
    spoilt = np.where(rng.random(table.shape) < 0.2, 0.0, table)
    values = [sparse.csr_array(part) for part in (table, spoilt)]

    def sample(cells, zeros, seed=3):
        monkeypatch.setattr(average, "_TRIAL_CELLS", cells)
        return average._sample_zeros(*values, zeros, np.random.default_rng(seed))

    n_zeros, n_hidden = (table == 0).sum(), (table != spoilt).sum()
    rows, columns, hidden, weight = sample(5000, n_zeros)
    np.testing.assert_array_equal(np.column_stack([rows, columns]), np.argwhere(spoilt == 0))
    np.testing.assert_array_equal(hidden, table[rows, columns] == 1)
    np.testing.assert_array_equal(weight, 1)

    rows, columns, hidden, weight = sample(5000, 100)
    assert (hidden.sum(), (~hidden).sum()) == (n_hidden, 100)
    np.testing.assert_array_equal(hidden, table[rows, columns] == 1)
    np.testing.assert_array_equal(weight, np.where(hidden, 1, n_zeros / 100))
    assert len(set(zip(rows, columns, strict=True))) == n_hidden + 100
    np.testing.assert_array_equal(np.lexsort((columns, rows)), np.arange(len(rows)))

    for cells, n_rows in ((4999, 999), (1500, 300), (20, 200)):
        tried = np.sort(np.random.default_rng(3).choice(1000, n_rows, replace=False))
        rows, columns, *_ = sample(cells, 10**6)
        expected = np.argwhere(spoilt[tried] == 0)
        np.testing.assert_array_equal(rows, tried[expected[:, 0]])
        np.testing.assert_array_equal(columns, expected[:, 1])


def test_a_wide_table_is_tried_on_all_of_its_few_rows(monkeypatch):
    monkeypatch.setattr(average, "_TRIAL_CELLS", 1)
    zeros = sparse.csr_array(np.zeros((3, 4)))
    rows, columns, hidden, weight = average._sample_zeros(
        zeros, zeros, 100, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(rows, np.repeat(np.arange(3), 4))
    np.testing.assert_array_equal(columns, np.tile(np.arange(4), 3))
    assert not hidden.any()
    assert (weight == 1).all()
    single = sparse.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    found = average._sample_zeros(single, single, 100, np.random.default_rng(0))
    assert [part.tolist() for part in found] == [[1], [0], [False], [1.0]]


@pytest.mark.parametrize(("n_columns", "n_blocks"), [(1000, 3), (500, 2), (300, 1), (2000, 3)])
def test_distinct_rows_come_in_blocks(n_columns, n_blocks, monkeypatch):
    monkeypatch.setattr(average, "_BLOCK_CELLS", 1000)
    rows = np.array([2, 2, 3, 9, 9, 9])
    blocks = list(average._row_blocks(rows, n_columns))
    assert len(blocks) == n_blocks
    assert np.concatenate([some for some, _ in blocks]).tolist() == [2, 3, 9]
    for some, at in blocks:
        assert np.unique(rows[at]).tolist() == some.tolist()
    assert np.concatenate([rows[at] for _, at in blocks]).tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rates_", np.zeros(11)),
        ("weights_", np.zeros(4)),
        ("feature_names_", ["a", "b"]),
        ("n_features_in_", 11),
        ("members_", []),
    ],
)
def test_a_model_whose_parts_do_not_fit_is_not_whole(model, name, value, monkeypatch):
    assert model._is_whole()
    monkeypatch.setattr(model, name, value)
    assert not model._is_whole()


def test_members_of_another_width_are_not_whole(model, monkeypatch):
    monkeypatch.setattr(model.members_[0].estimators[1], "n_features_in_", 11)
    assert not model._is_whole()


def test_every_fit_is_announced(table, capsys):
    members = [("margins", fz.Margins()), ("ease", fz.EASE())]
    fz.StackedAverage(members, n_trials=1, random_state=0, verbose=2).fit(table)
    expected = [f"StackedAverage {i}/6 {('ease', 'margins')[i % 2]}" for i in range(1, 7)]
    assert capsys.readouterr().err.splitlines() == expected


def test_sparse_tables_and_missing_cells_are_taken():
    tags = fz.StackedAverage().__sklearn_tags__().input_tags
    assert tags.sparse
    assert tags.allow_nan
