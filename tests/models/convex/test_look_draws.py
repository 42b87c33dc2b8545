"""Averages over posterior draws of repeated looks: how long chains are, what is added up."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.convex.test_look_answers import dressed

import falsezero as fz
from falsezero.base.estimator import spawn_seeds
from falsezero.inference.contract import Point
from falsezero.models.convex import look_draws, looks_gibbs
from falsezero.models.convex.look_answers import column_rates
from falsezero.models.convex.look_intervals import drawn_intervals
from falsezero.models.convex.row_prior import RowPrior


class Rows:
    """Two blocks of two rows each, three columns."""

    shape = (4, 3)

    def __iter__(self):
        return iter([SimpleNamespace(rows=slice(0, 2)), SimpleNamespace(rows=slice(2, 4))])


def test_answers_are_means_over_draws(monkeypatch):
    """Certain presences, so that what is drawn is known."""
    rng = np.random.default_rng(0)
    present = (rng.random((5, 4, 3)) < 0.5).astype(float)
    hit, alarm = rng.uniform(0.3, 0.9, (5, 4, 3)), rng.uniform(0, 0.2, (5, 4, 3))
    model = SimpleNamespace(
        draw_seed_=1,
        draws_=range(5),
        _steps=lambda blocks: None,
        _answers_at=lambda steps, block, part, i, design: (
            present[i, block.rows],
            hit[i, block.rows] * design,
            alarm[i, block.rows],
        ),
        _content=lambda part, i: i,
        _recorded=lambda i: np.full((2, 3), i),
    )
    followed = [(i, [None, None]) for i in range(5)]
    monkeypatch.setattr(look_draws, "_followed", lambda *_: iter(followed))
    found = look_draws.drawn_answers(model, Rows(), None, 0.5)
    np.testing.assert_allclose(found.present, present.mean(axis=0))
    again = 0.5 * present * hit + (1 - present) * alarm
    np.testing.assert_allclose(found.again, again.mean(axis=0))
    np.testing.assert_allclose(found.expected, np.full((4, 3), 2.0))
    np.testing.assert_array_equal(found.by_columns, present.sum(axis=1))
    np.testing.assert_array_equal(found.by_rows, present.sum(axis=2))


@pytest.mark.parametrize(("false_alarms", "thin"), [(False, 4), (True, 16)])
@pytest.mark.parametrize("least", [5, 60])
def test_a_chain_warms_up_as_long_as_it_draws(least, false_alarms, thin, monkeypatch):
    looks = dressed()
    options = {"alpha0": 0.6, "beta0": 0.9, "gamma0": 0.8, "false_alarms": false_alarms}
    model = fz.RepeatedLooks(2, inference="gibbs", n_draws=3, random_state=0, tol=1e-2, **options)
    blocks = model._blocks(looks, reset=True)
    steps = model._steps(blocks)
    start = Point(*steps.init(blocks, np.random.default_rng(0)))
    asked = {}
    run = look_draws.sample

    def sample(*arguments, **options):
        asked.update(options)
        return run(*arguments, **options)

    monkeypatch.setattr(look_draws, "sample", sample)
    monkeypatch.setattr(look_draws, "_LEAST_WARMUP", least)
    drawn = look_draws.sampled(model, blocks, start, np.random.SeedSequence(0))
    warmup = max(least, 3 * thin)
    assert (asked["warmup"], asked["draws"], asked["thin"]) == (warmup, 3, thin)
    assert len(drawn) == 3
    second = drawn.at(1)
    np.testing.assert_array_equal(second.shapes, drawn.shapes[1])
    assert second.gamma == drawn.shapes[1, 2]
    assert second.trial is None
    np.testing.assert_array_equal(second.drawn.ones, drawn.states.ones[1])
    np.testing.assert_allclose(look_draws._shapes(model), [0.6, 0.9, 0.8])


def test_rows_follow_each_draw_for_two_sweeps(monkeypatch):
    looks = dressed()
    model = fz.RepeatedLooks(2, inference="gibbs", n_draws=2, random_state=0, tol=1e-2).fit(looks)
    blocks = model._blocks(looks, reset=False)
    sweeps = []
    step = looks_gibbs.LooksGibbs.local_step

    def local_step(self, block, local, state, rng):
        sweeps.append(state.shapes.tolist())
        return step(self, block, local, state, rng)

    monkeypatch.setattr(looks_gibbs.LooksGibbs, "local_step", local_step)
    followed = look_draws._followed(model, blocks, model._settled(blocks), np.random.default_rng(0))
    states = [state for state, _ in followed]
    assert sweeps == [shapes for shapes in model.draws_.shapes.tolist() for _ in range(2)]
    for number, state in enumerate(states):
        np.testing.assert_array_equal(state.ones, model.draws_.at(number).drawn.ones)


@pytest.mark.parametrize("has_variables", [False, True])
def test_prior_shares_of_rows_add_up_to_their_number(has_variables):
    rng = np.random.default_rng(0)
    variables, coefficients = rng.normal(size=(5, 2)), rng.normal(size=(2, 3))
    prior = RowPrior(coefficients, 0 * coefficients, np.array(1.0), np.array(2.4))
    block = SimpleNamespace(codes=np.zeros((5, 1)), variables=variables if has_variables else None)
    drawn = SimpleNamespace(ones=np.zeros((3, 4)), row_prior=prior)
    found = looks_gibbs._prior_share(block, drawn)
    expected = np.exp(variables @ coefficients)
    expected *= 3 / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected if has_variables else np.ones((5, 3)))
    alike = looks_gibbs._prior_share(block, SimpleNamespace(ones=drawn.ones, row_prior=None))
    np.testing.assert_array_equal(alike, np.ones((5, 3)))


@pytest.mark.parametrize("detection", [None, 0.6])
def test_a_fit_by_draws_keeps_the_rates_of_every_draw(detection):
    looks = fz.as_looks(dressed().to_numpy())
    model = fz.RepeatedLooks(
        2, inference="gibbs", n_draws=3, n_init=2, detection=detection, heterogeneity="learn",
        random_state=0, tol=1e-2,
    ).fit(looks)  # fmt: skip
    seed = spawn_seeds(0, 3)[-1]
    assert model.draw_seed_ == int(seed.generate_state(1)[0])
    assert model.detection_draws_.shape == (3, 3)
    np.testing.assert_allclose(model.detection_, model.detection_draws_.mean(axis=0))
    assert not model.rate_covariance_.any()
    if detection is not None:
        np.testing.assert_array_equal(model.detection_draws_, detection)
        assert model.heterogeneity_ == 0
        return
    rates = model._steps(model._blocks(looks, reset=False)).seen
    spreads = []
    for number in range(3):
        drawn = model.draws_.at(number).drawn
        expected = column_rates(rates, drawn.seen_mean, drawn.seen)
        np.testing.assert_allclose(model.detection_draws_[number], expected)
        spreads.append(float(drawn.seen.spread))
    assert model.heterogeneity_ == pytest.approx(np.mean(spreads))
    assert len(set(spreads)) == 3, "the spread between cells is drawn too"


@pytest.mark.parametrize(("by", "axis"), [("columns", 0), ("rows", 1)])
def test_intervals_of_draws_are_their_quantiles(by, axis):
    rng = np.random.default_rng(0)
    values = (rng.random((5, 2, 3)) < 0.4).astype(float)
    answers = SimpleNamespace(
        present=rng.random((5, 3)),
        by_columns=rng.integers(0, 6, (20, 3)),
        by_rows=rng.integers(0, 4, (20, 5)),
    )
    model = SimpleNamespace(
        detection_=np.array([0.2, 0.5, 0.7]), detection_draws_=rng.random((20, 3))
    )
    table = drawn_intervals(model, values, answers, 0.8, by)
    drawn = np.sort(answers.by_columns if axis == 0 else answers.by_rows, axis=0)
    np.testing.assert_array_equal(table["seen"], (values.sum(axis=1) > 0).sum(axis=axis))
    np.testing.assert_allclose(table["occupied"], answers.present.sum(axis=axis))
    # A tenth of 19 steps below the lowest, rounded outwards.
    np.testing.assert_array_equal(table["occupied_low"], drawn[1])
    np.testing.assert_array_equal(table["occupied_high"], drawn[18])
    assert table.columns[0] == by[:-1]
    assert ("detection" in table.columns) is (axis == 0)
    if axis == 0:
        np.testing.assert_array_equal(table["detection"], model.detection_)
        low, high = np.quantile(model.detection_draws_, [0.1, 0.9], axis=0)
        np.testing.assert_allclose(table["detection_low"], low)
        np.testing.assert_allclose(table["detection_high"], high)


def test_a_single_draw_is_enough():
    looks = fz.datasets.make_looks(8, 3, 2, 2, random_state=0).looks
    model = fz.RepeatedLooks(1, inference="gibbs", n_draws=1, random_state=0, tol=1e-2).fit(looks)
    assert len(model.draws_) == 1
    answers = model._answers(looks)
    assert (answers.by_columns.shape, answers.by_rows.shape) == ((1, 3), (1, 8))
    assert answers.by_columns.sum() == answers.by_rows.sum()
