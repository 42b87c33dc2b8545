"""Averages over posterior draws of repeated looks: how long chains are, what is added up."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.convex.test_look_answers import dressed

import falsezero as fz
from falsezero.inference.contract import Point
from falsezero.models.convex import look_draws, looks_gibbs
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
        _answers_at=lambda steps, block, part, i: (
            present[i, block.rows],
            hit[i, block.rows],
            alarm[i, block.rows],
        ),
    )
    followed = [(i, [None, None]) for i in range(5)]
    monkeypatch.setattr(look_draws, "_followed", lambda *_: iter(followed))
    found = look_draws.drawn_answers(model, Rows(), None)
    np.testing.assert_allclose(found.present, present.mean(axis=0))
    again = present * hit + (1 - present) * alarm
    np.testing.assert_allclose(found.again, again.mean(axis=0))
    np.testing.assert_array_equal(found.by_columns, present.sum(axis=1))
    np.testing.assert_array_equal(found.by_rows, present.sum(axis=2))


def test_a_chain_warms_up_as_long_as_it_draws(monkeypatch):
    looks = dressed()
    model = fz.RepeatedLooks(
        2, inference="gibbs", n_draws=3, random_state=0, tol=1e-2, alpha0=0.6, beta0=0.9, gamma0=0.8
    )
    blocks = model._blocks(looks, reset=True)
    steps = model._steps(blocks)
    start = Point(*steps.init(blocks, np.random.default_rng(0)))
    asked = {}
    run = look_draws.sample

    def sample(*arguments, **options):
        asked.update(options)
        return run(*arguments, **options)

    monkeypatch.setattr(look_draws, "sample", sample)
    drawn = look_draws.sampled(model, blocks, start, np.random.SeedSequence(0))
    thin = look_draws._THIN
    assert (asked["warmup"], asked["draws"], asked["thin"]) == (3 * thin, 3, thin)
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
