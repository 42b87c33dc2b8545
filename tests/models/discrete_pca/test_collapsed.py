"""Collapsed samplers of Discrete PCA at one state: priors, counted sweeps, what a draw says."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, psi
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    MODELS,
    blocks_of,
    counts_of,
    steps_of,
    tiny,
)
from tests.reference import discrete_pca as reference

from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.collapsed import CollapsedSteps, GroupCollapsedSteps, Trace
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.gibbs import (
    DirectGibbsSteps,
    Drawn,
    RowCollapsedSteps,
    Statistics,
)


def a_point(name, **options):
    """A first state, and tokens by row and component and by word and component."""
    steps = steps_of(CollapsedSteps, name, **options)
    point = Point(*steps.init(blocks_of(COUNTS), np.random.default_rng(3)))
    return steps, point, *counts_of(steps, point)


def minka(alpha, c, spread, sweeps=3):
    """alpha_k times the rise of its digammas over the rows, over what a token more would cost."""
    for _ in range(sweeps):
        rise = [sum(psi(a + n) - psi(a) for n in own) for a, own in zip(alpha, c.T, strict=True)]
        alpha = alpha * np.array(rise) / spread(alpha)
    return alpha


@pytest.mark.parametrize("learn", [(False, False), (True, False), (False, True), (True, True)])
def test_priors_are_learnt_from_the_tokens(learn):
    steps, point, c, _ = a_point("dirichlet", learn=learn)
    found = steps.learn_priors(point.local[0], point.state)
    tokens = COUNTS.sum(axis=1)
    expected = minka(ALPHA, c, lambda a: sum(psi(a.sum() + n) - psi(a.sum()) for n in tokens))
    np.testing.assert_allclose(found.alpha, expected if learn[0] else ALPHA)
    np.testing.assert_array_equal(found.beta, BETA)

    steps, point, c, _ = a_point("gamma-poisson", learn=learn)
    found = steps.learn_priors(point.local[0], point.state)
    mean, alpha, beta = c.mean(axis=0), ALPHA, BETA
    if learn[1]:
        beta = alpha / mean
    if learn[0]:
        alpha = minka(alpha, c, lambda a: 2 * np.log((1 + beta) / beta))
    np.testing.assert_allclose(found.alpha, alpha)
    np.testing.assert_allclose(found.beta, alpha / mean if learn[1] else BETA)


def test_priors_follow_every_tenth_sweep_of_the_warm_up():
    """And stay from then on; sweeps are counted one by one."""
    steps, point, *_ = a_point("dirichlet", warmup=29, learn=(True, False))
    block, state, learnt = blocks_of(COUNTS)[0], point.state, []
    for sweep in range(32):
        local, trace = steps.local_step(
            block, point.local[0], state._replace(sweep=sweep), np.random.default_rng(0)
        )
        if trace.hyper is not state.hyper:
            learnt.append(sweep)
        after = steps.global_step(trace, state._replace(sweep=sweep), None)
        assert after.sweep == sweep + 1
        assert after.hyper is trace.hyper
    assert learnt == [9, 19]
    assert steps.objective(trace, state) == steps.log_joint(local, state)
    assert steps.objective(Trace(-3.5, state.hyper), state) == -3.5


def test_general_samplers_count_sweeps_and_learn_alike():
    steps = steps_of(GroupCollapsedSteps, "gamma-multinomial", warmup=29, learn=(True, True))
    state, [rows] = steps.init(blocks_of(COUNTS), np.random.default_rng(0))
    words = np.zeros((4, 2))
    np.add.at(words, (steps.tokens[0].words, rows.z), 1)
    np.testing.assert_array_equal(state.counts, words)
    found = Statistics(words, -7.0, np.array([-2.8, -1.6]), np.array([1.0, 1.8]), 2)
    learnt = []
    for sweep in range(32):
        after = steps.global_step(found, state._replace(sweep=sweep), None)
        assert after.sweep == sweep + 1
        assert after.counts is words
        if after.hyper is not state.hyper:
            learnt.append(sweep)
    assert learnt == [9, 19]
    assert steps.objective(found, state) == pytest.approx(
        -7.0
        + gammaln(COUNTS @ np.kron(np.eye(2), [[1], [1]]) + 1).sum()
        - gammaln(COUNTS + 1).sum()
    )


@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_a_draw_says_what_is_expected_given_its_components(name):
    steps, point, c, n = a_point(name)
    weights = steps.row_weights(point.local, point.state)
    if name == "gamma-poisson":
        np.testing.assert_allclose(weights, (ALPHA + c) / (BETA + 1))
    else:
        expected = (ALPHA + c) / (ALPHA.sum() + c.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(weights, expected)
    theta = steps.family.normalise(ETA + n)
    np.testing.assert_allclose(steps.add_components(point.state), theta, rtol=1e-6)
    twice = steps.add_components(point.state, theta.astype(np.float32))
    np.testing.assert_allclose(twice, 2 * theta, rtol=1e-6)
    assert steps.project(None, point) is point


@pytest.mark.parametrize("n_shards", [1, 2])
@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_sums_are_kept_through_a_sweep(name, n_shards):
    """Whatever was drawn: tokens by word, by group, and the log joint that follows."""
    steps, point, *_ = a_point(name, n_shards=n_shards)
    state, model = point.state, tiny(name)
    for seed in range(3):
        local, trace = steps.local_step(
            blocks_of(COUNTS)[0], point.local[0], state, np.random.default_rng(seed)
        )
        c, n = counts_of(steps, Point(state, [local]))
        np.testing.assert_array_equal(c.sum(axis=1), COUNTS.sum(axis=1))
        np.testing.assert_array_equal(n.sum(axis=1), COUNTS.sum(axis=0))
        np.testing.assert_allclose(state.totals, steps.family.group_sums(n))
        expected = reference.log_theta(model, n) + reference.log_constant(model, COUNTS)
        bags = 0 if model.kind == "gamma" else 1
        expected += sum(reference.log_row(model, row, bags) for row in c)
        assert trace.log_joint == pytest.approx(expected, rel=1e-6)
    prior = steps.prior(state.hyper)
    np.testing.assert_allclose(prior.alpha, ALPHA, rtol=1e-6)
    scale = 1 / (BETA + 1) if name == "gamma-poisson" else np.ones(2)
    np.testing.assert_allclose(prior.scale, scale, rtol=1e-6)
    np.testing.assert_allclose(prior.spread, ETA * steps.family.sizes, rtol=1e-6)
    assert prior.eta == np.float32(ETA)


def test_theta_begins_near_the_column_means():
    steps, blocks = steps_of(DirectGibbsSteps, "dirichlet in groups"), blocks_of(COUNTS)
    state, _ = steps.init(blocks, np.random.default_rng(0))
    noise = np.random.default_rng(0).standard_gamma(10.0, (4, 2))
    theta = noise * (COUNTS.sum(axis=0) + ETA)[:, None]
    np.testing.assert_allclose(state.theta, steps.family.normalise(theta))
    assert not state.counts.any()
    assert state.sweep == 0


def test_tokens_begin_in_components_like_their_words():
    """p(k | w) is in proportion to (n_kw + eta) / (n_k + eta W), for n the seeds."""
    steps = steps_of(CollapsedSteps, "dirichlet", counts=np.full((1, 4), 3000.0))
    seeds = np.array([[5.0, 0, 1, 2], [1, 30, 3, 0]])
    state, _ = steps.seeded(sparse.csr_array(seeds), np.random.default_rng(0))
    share = (seeds + ETA) / (seeds.sum(axis=1, keepdims=True) + 4 * ETA)
    share = (share / share.sum(axis=0)).T
    error = np.sqrt(share * (1 - share) / 3000)
    np.testing.assert_array_equal(state.words.sum(axis=1), 3000)
    assert (np.abs(state.words / 3000 - share) < 4.5 * error).all()


@pytest.mark.parametrize(("asked", "n_shards"), [(1, 1), (2, 2), (9, 2), (0, 1)])
def test_no_more_shards_than_rows_or_words(asked, n_shards):
    steps = steps_of(CollapsedSteps, "dirichlet", n_shards=asked)
    assert len(steps.shards) == n_shards
    narrow = steps_of(CollapsedSteps, "dirichlet", counts=np.tile(COUNTS, (4, 1)), n_shards=asked)
    assert len(narrow.shards) == max(1, min(asked, 4))


@pytest.mark.parametrize("name", list(MODELS))
def test_the_log_joint_of_weights_components_and_theta(name):
    """p(w, v, l, Theta) with v as drawn, l as drawn, and Theta as it was."""
    steps, [block] = steps_of(RowCollapsedSteps, name), blocks_of(COUNTS)
    family = steps.family
    rows = steps.start_rows(block, np.random.default_rng(0))
    tokens = np.repeat(np.tile(np.arange(4), 2), COUNTS.ravel().astype(int))
    assert steps.tokens[0].words.tolist() == tokens.tolist()
    assert rows.counts.sum(axis=1).tolist() == [4, 3]
    theta = family.normalise(np.random.default_rng(1).uniform(0.2, 1, (4, 2)))
    state = Drawn(theta, np.zeros((4, 2)), Hyper(ALPHA, BETA), 0)
    new, found = steps.local_step(block, rows, state, np.random.default_rng(2))
    words = np.zeros((4, 2))
    np.add.at(words, (tokens, new.z), 1)
    np.testing.assert_array_equal(found.words, words)
    w = new.weights
    expected = (words * np.log(theta)).sum() + (new.counts * np.log(w)).sum()
    if family.gamma:
        expected += stats.gamma(ALPHA, scale=1 / BETA).logpdf(w).sum()
        lengths = COUNTS[:, ~family.poisson].sum(axis=1)
        expected -= (lengths * np.log(w.sum(axis=1)) + family.delta * w.sum(axis=1)).sum()
    else:
        expected += sum(stats.dirichlet(ALPHA).logpdf(own) for own in w)
    assert found.log_joint == pytest.approx(expected)
    np.testing.assert_allclose(found.sum_log, np.log(w).sum(axis=0))
    np.testing.assert_allclose(found.sum_mean, w.sum(axis=0))
    drawn = SimpleNamespace(hyper=state.hyper)
    shape = ALPHA + new.counts
    rates = BETA + family.delta + new.pull[:, None] if family.gamma else shape.sum(axis=1)[:, None]
    np.testing.assert_allclose(steps.row_weights([new], drawn), shape / rates)
