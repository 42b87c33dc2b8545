"""Geweke's test of the sampler of repeated looks, with broken moves as controls.

Parameters drawn from the prior, and parameters of a chain that alternates between a step of the
sampler and new looks drawn given them, have the same distribution if every move is right.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from tests.models.convex.test_looks_moves import SHAPES

import falsezero as fz
from falsezero.inference.contract import Point
from falsezero.models.convex import looks_gibbs
from falsezero.models.convex.looks_gibbs import GibbsState, LooksGibbs
from falsezero.models.convex.looks_moves import SPREAD_WIDTH
from falsezero.models.convex.looks_steps import Rows

ROWS, COLUMNS, SIZE, TRIES = 4, 2, 2, 2
STEPS, BATCHES = 2400, 24


@pytest.fixture(name="sampler", scope="module")
def _sampler():
    """The sampler, a state and rows to be filled in, and a block whose looks are replaced."""
    looks = fz.Looks.from_counts(np.ones((ROWS, COLUMNS)), TRIES)
    options = {"row_effects": True, "false_alarms": True, "heterogeneity": "learn"}
    model = fz.RepeatedLooks(SIZE, random_state=0, max_iter=5, tol=1, **options).fit(looks)
    blocks = model._blocks(looks, reset=False)
    start = Point(model.state_, model._settled(blocks))
    steps = LooksGibbs(model._steps(blocks), start, SHAPES)
    return steps, *steps.init(blocks, None), blocks[0]


def drawn_rates(rates, effects, rng, spread):
    """Effects of columns and the priors behind them, from their own priors."""
    level, usual = rates.prior.level, rates.prior.width**2
    centre = np.array([level + rates.prior.level_width * rng.normal()])
    width2 = usual / rng.chisquare(1, 1)
    mean = centre + np.sqrt(width2) * rng.normal(size=(COLUMNS, 1))
    row_width2 = np.array(0.25 / rng.chisquare(1))
    return mean, effects._replace(
        centre=centre, width2=width2, row_width2=row_width2, spread=np.array(spread)
    )


def from_the_prior(sampler, rng):
    steps, state, _, _ = sampler
    shapes = SHAPES * np.exp(rng.normal(size=3))
    a = rng.beta(shapes[0], shapes[1], size=(SIZE, COLUMNS)).clip(1e-15, 1 - 1e-15)
    drawn = state.drawn._replace(alpha=a, beta=1 - a, ones=a, zeros=1 - a)
    spread = max(abs(SPREAD_WIDTH * rng.normal()), 1e-3)
    seen = drawn_rates(steps.steps.seen, drawn.seen, rng, spread)
    alarm = drawn_rates(steps.steps.alarm, drawn.alarm, rng, 0.0)
    drawn = drawn._replace(seen_mean=seen[0], seen=seen[1], alarm_mean=alarm[0], alarm=alarm[1])
    weights = looks_gibbs._dirichlet(np.full((ROWS, SIZE), shapes[2]), rng)[0]
    effect = np.sqrt(seen[1].row_width2) * rng.normal(size=(ROWS, 1))
    gamma = np.array(shapes[2] * np.exp(0.5 * rng.normal()))
    return GibbsState(drawn, shapes, gamma, None), Rows(weights, effect, np.zeros((ROWS, 1)))


def seen_again(sampler, state, rows, rng):
    """The block with new looks, given all parameters."""
    steps, block, drawn = sampler[0].steps, sampler[3], state.drawn
    present = rng.random((ROWS, COLUMNS)) < rows.content @ drawn.ones
    node = rng.choice(steps.seen.nodes, p=np.exp(steps.seen.log_weights), size=present.shape)
    hit = expit(drawn.seen_mean[:, 0] + rows.effect + drawn.seen.spread * node)
    rate = np.where(present, hit, expit(drawn.alarm_mean[:, 0]))
    ones = rng.binomial(TRIES, rate)[:, None, :].astype(float)
    return replace(block, patterns=block.patterns._replace(ones=ones))


def what_is_compared(state, rows, block):
    """Bounded or nearly bounded functions of everything that is drawn."""
    drawn = state.drawn
    seen, alarm = drawn.seen, drawn.alarm
    return [
        *np.tanh(np.log(state.shapes)),
        (rows.content[:, 0] ** 2).mean(),
        (drawn.ones**2).mean(),
        expit(drawn.seen_mean).mean(),
        (np.tanh((drawn.seen_mean - seen.centre) / np.sqrt(seen.width2)) ** 2).mean(),
        expit(seen.centre[0]),
        np.tanh(np.log(seen.width2[0])),
        seen.spread / (1 + seen.spread),
        np.tanh(np.log(seen.row_width2)),
        (expit(rows.effect) ** 2).mean(),
        expit(drawn.alarm_mean).mean(),
        np.tanh(np.log(alarm.width2[0])),
        (block.patterns.ones == 1).mean(),
        (block.patterns.ones[:, 0] * rows.content[:, :1]).mean(),
    ]


def scores(sampler, seed=0):
    """How many standard errors prior and chain are apart, for everything that is compared."""
    steps, rng = sampler[0], np.random.default_rng(seed)
    prior = []
    for _ in range(STEPS):
        state, rows = from_the_prior(sampler, rng)
        prior.append(what_is_compared(state, rows, seen_again(sampler, state, rows, rng)))
    chain, block = [], seen_again(sampler, state, rows, rng)
    for number in range(2 * STEPS):
        if state.trial is None and number % 6:
            # More trials than the sampler makes: draws of all cells would hide what they do wrong.
            trial = looks_gibbs.proposed(state.drawn, state.shapes, steps.steps, rng)
            state = state._replace(trial=trial)
        rows, found = steps.local_step(block, rows, state, rng)
        state = steps.global_step(found, state, rng)
        block = seen_again(sampler, state, rows, rng)
        chain.append(what_is_compared(state, rows, block))
    expected, seen = np.array(prior), np.array(chain)
    means = seen.reshape(BATCHES, -1, seen.shape[1]).mean(axis=1)
    error2 = expected.var(axis=0) / STEPS + means.var(axis=0, ddof=1) / BATCHES
    return (means.mean(axis=0) - expected.mean(axis=0)) / np.sqrt(error2)


def test_the_chain_keeps_the_prior(sampler):
    assert np.abs(scores(sampler)).max() < 4


def test_a_move_that_forgets_its_prior_is_found(sampler, monkeypatch):
    """Rates whose proposals are judged by the looks alone drift away from their prior."""
    right = looks_gibbs.proposed

    def proposed(*given):
        trial = right(*given)
        return trial._replace(by_column=np.zeros(COLUMNS))

    monkeypatch.setattr(looks_gibbs, "proposed", proposed)
    assert np.abs(scores(sampler)).max() > 5
