"""Averages of large tables by hand: what a cell is worth, who must reach what, what is drawn."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit

import falsezero as fz
from falsezero.models.average import large
from falsezero.models.average.large import CellOdds, _Voice, draw_large
from falsezero.models.average.members import Member
from falsezero.models.average.stacking import hide_ones, smoothed_column_rates

N, T, KEPT = 5, 4, 0.9


def log_odds(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


def some_odds(weights=(0.5, 0.7, 0.2, 0.4), intercept=-0.3):
    """Two factor models averaged, one by itself, margins, and how common columns are."""
    rng = np.random.default_rng(0)
    pairs = [(rng.dirichlet(np.ones(k), N), rng.uniform(0.02, 0.9, (T, k))) for k in (2, 3, 2)]
    odds = CellOdds([], rng.uniform(0.1, 0.6, T), intercept, np.array(weights), KEPT)
    margins = rng.normal(size=N), rng.normal(size=T)
    odds.voices = [_Voice(pairs[:2], None), _Voice(pairs[2:], None), _Voice([], margins)]
    return odds


def said(odds):
    """Probabilities of every cell by each member, and the rates of the columns."""
    (first, second), (third,) = odds.voices[0].factors, odds.voices[1].factors
    rows, columns = odds.voices[2].margins
    yield (first[0] @ first[1].T + second[0] @ second[1].T) / 2
    yield third[0] @ third[1].T
    yield expit(rows[:, None] + columns)
    yield np.broadcast_to(odds.rates, (N, T))


def test_a_cell_is_the_weighted_sum_of_what_is_said_of_it():
    odds = some_odds()
    rows, columns = np.indices((N, T)).reshape(2, -1)
    parts = [log_odds(KEPT * p) for p in said(odds)]
    for found, part in zip(odds.features(rows, columns), parts, strict=True):
        np.testing.assert_allclose(found, part.ravel())
    expected = -0.3 + sum(w * part for w, part in zip(odds.weights, parts, strict=True))
    np.testing.assert_allclose(odds.at(rows, columns), expected.ravel())
    np.testing.assert_allclose(CellOdds([], np.full(3, 0.5)).weights, [1.0])


@pytest.mark.parametrize(
    "weights", [(0.5, 0.7, 0.2, 0.4), (0.5, -0.7, -0.2, 0.4), (-0.5, 0.7, 0.0, -0.4)]
)
@pytest.mark.parametrize("intercept", [-0.3, 20.0])
def test_what_a_leading_member_must_reach(weights, intercept):
    """Nothing is missing when all the others say the most that they can of the column."""
    odds, rows = some_odds(weights, intercept), np.array([0, 2, 3])
    least, leading = odds._thresholds(rows)
    most = intercept + weights[3] * log_odds(KEPT * odds.rates)
    effects, columns = odds.voices[2].margins
    extreme = effects[rows].max() if weights[2] > 0 else effects[rows].min()
    most = most + weights[2] * log_odds(KEPT * expit(extreme + columns))
    total = 0.0
    for weight, voice in zip(weights[:2], odds.voices[:2], strict=True):
        if weight > 0:
            total += weight
        else:
            lowest = np.mean([by_column.min(axis=1) for _, by_column in voice.factors], axis=0)
            most = most + weight * log_odds(KEPT * lowest)
    needed = expit(-most / total)
    expected = np.where(needed <= 1e-4, 1e-30, needed * (1 - 1e-9)) / KEPT
    np.testing.assert_allclose(least, expected, rtol=1e-12)
    assert [id(v) for v in leading] == [
        id(voice) for w, voice in zip(weights[:2], odds.voices[:2], strict=True) if w > 0
    ]
    assert (least < 1e-20).any() == (intercept == 20.0)


@pytest.mark.parametrize("intercept", [-0.2, 0.6, 5.0])
def test_without_leading_members_a_column_is_searched_or_not(intercept):
    odds = some_odds((-0.5, 0.0, 0.3, 0.4), intercept)
    least, everyone = odds._thresholds(np.arange(N))
    most = intercept + 0.4 * log_odds(KEPT * odds.rates)
    lowest = np.mean([columns.min(axis=1) for _, columns in odds.voices[0].factors], axis=0)
    most = most - 0.5 * log_odds(KEPT * lowest)
    effects, columns = odds.voices[2].margins
    most = most + 0.3 * log_odds(KEPT * expit(effects.max() + columns))
    np.testing.assert_array_equal(least, np.where(most > 0, 1e-30, np.inf))
    assert len(everyone) == 2


def test_a_drawn_cell_stands_for_the_inverse_of_its_chance():
    odds, rows = some_odds(), np.array([1, 4])
    found_rows, columns, weight = odds.sample(rows, 4000, np.random.default_rng(0))
    np.testing.assert_array_equal(found_rows, np.repeat(rows, 4000))
    common = odds.rates / odds.rates.sum()
    pairs = [pair for voice in odds.voices for pair in voice.factors]
    for row in rows:
        parts = [(w @ f.T)[row] / (w @ f.T)[row].sum() for w, f in pairs]
        chance = (sum(parts) + common) / 4
        own = found_rows == row
        np.testing.assert_allclose(weight[own], 1 / (4000 * chance[columns[own]]))
        share = np.bincount(columns[own], minlength=T) / 4000
        assert (np.abs(share - chance) < 4.5 * np.sqrt(chance / 4000)).all()


@pytest.mark.parametrize("has_effects", [False, True])
def test_rows_of_like_margins_are_searched_together(has_effects, monkeypatch):
    monkeypatch.setattr(large, "_ROWS_AT_A_TIME", 2)
    odds = some_odds()
    odds.voices = odds.voices if has_effects else odds.voices[:2]
    order = np.argsort(some_odds().voices[2].margins[0]) if has_effects else np.arange(N)
    expected = [sorted(order[start : start + 2].tolist()) for start in (0, 2, 4)]
    assert [group.tolist() for group in odds._row_groups(N, 9)] == expected
    assert [len(group) for group in odds._row_groups(N, 1)] == [1] * N
    assert [len(group) for group in odds._row_groups(N, 0)] == [1] * N, "at least one row"


def test_sizes_of_large_tables_and_their_members(monkeypatch):
    assert not large.is_large((10_000, 10_000))
    assert large.is_large((10_001, 10_000))
    table = sparse.csr_array(np.tril(np.ones((4, 4))))
    few, many, margins = large.large_members(table)
    assert [e.n_components for e in few.estimators] == [4, 8]
    assert [e.n_components for e in many.estimators] == [16, 32]
    rough = {"prior": 1.0, "solver": "auto", "tol": 1e-4, "max_iter": 30}
    assert rough.items() <= few.estimators[0].get_params().items()
    assert (margins.estimators[0].max_iter, margins.estimators[0].tol) == (30, 1e-4)
    for cells, n_members in ((16, 3), (15, 2)):
        monkeypatch.setattr(large, "_MARGIN_CELLS", cells)
        assert len(large.large_members(table)) == n_members


@pytest.mark.parametrize(("judged", "n_looked"), [(50_000, 60), (20, 20)])
def test_a_trial_hides_ones_and_draws_zeros(judged, n_looked, monkeypatch):
    monkeypatch.setattr(large, "_JUDGED", judged)
    rng = np.random.default_rng(0)
    table = (rng.random((60, 8)) < 0.4).astype(float)
    table[3, 4] = np.nan
    members = [Member("aspects", [fz.AspectBernoulli(2, max_iter=5, tol=1.0)])]
    members.append(Member("margins", [fz.Margins()]))
    values, seen = sparse.csr_array(table), {}
    sample = CellOdds.sample

    def noted(self, looked, per_row, rng):
        seen.update(odds=self, looked=looked, per_row=per_row)
        seen["drawn"] = sample(self, looked, per_row, rng)
        return seen["drawn"]

    monkeypatch.setattr(CellOdds, "sample", noted)
    seed = np.random.SeedSequence(7)
    draw = draw_large(values, members, "cells", 0.3, seed, lambda name: None)
    rng = np.random.default_rng(np.random.SeedSequence(7))
    rng.choice(60, 60, replace=False)
    spoilt, _ = hide_ones(values, "cells", 0.3, rng)
    lost = (table == 1) & (spoilt.toarray() == 0)
    n_finds = min(judged, lost.sum())
    assert draw.hidden.sum() == n_finds
    assert lost[draw.rows[draw.hidden], draw.columns[draw.hidden]].all()
    assert draw.share == lost.sum() / np.nansum(table)
    np.testing.assert_allclose(draw.weight[draw.hidden], lost.sum() / n_finds)
    assert len(np.unique(seen["looked"])) == len(seen["looked"]) == n_looked
    assert seen["per_row"] == -(-judged // n_looked)
    rows, columns, weight = seen["drawn"]
    free = table[rows, columns] == 0
    order = np.lexsort((columns[free], rows[free]))
    np.testing.assert_array_equal(draw.rows[~draw.hidden], rows[free][order])
    np.testing.assert_array_equal(draw.columns[~draw.hidden], columns[free][order])
    np.testing.assert_allclose(
        np.sort(draw.weight[~draw.hidden]), np.sort(weight[free] * 60 / n_looked)
    )
    np.testing.assert_allclose(seen["odds"].rates, smoothed_column_rates(spoilt))
    expected = np.column_stack([*seen["odds"].features(draw.rows, draw.columns)])
    np.testing.assert_allclose(draw.features, expected, rtol=1e-5)
    assert (draw.scheme, draw.n_tried) == ("cells", 60)


def test_a_trial_is_made_on_rows_with_so_many_ones(monkeypatch):
    table = sparse.csr_array((np.random.default_rng(0).random((4000, 5)) < 0.4).astype(float))
    members = [Member("aspects", [fz.AspectBernoulli(2, max_iter=2, tol=1.0)])]
    monkeypatch.setattr(large, "_JUDGED", 20)
    for ones, expected in ((1, 2000), (table.nnz * 3 / 4, 3000), (10**9, 4000)):
        monkeypatch.setattr(large, "_TRIAL_ONES", ones)
        seed = np.random.SeedSequence(0)
        draw = draw_large(table, members, "rows", 0.2, seed, lambda name: None)
        assert draw.n_tried == expected
        assert draw.rows.max() >= expected - 1000
