"""Samplers of Discrete PCA against enumeration and Geweke's test."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import gamma
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    FAST,
    MODELS,
    blocks_of,
    corpus,
    counts_of,
    family_of,
    invariants,
    quiet,
    run,
    steps_of,
    tiny,
    z_scores,
)
from tests.reference import discrete_pca as reference

from falsezero.analysis.diagnostics import to_datatree
from falsezero.backends import map_blocks
from falsezero.inference.contract import Point
from falsezero.kernels.topics import deal_tokens
from falsezero.models.discrete_pca.collapsed import CollapsedSteps, GroupCollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.gibbs import (
    LARGE,
    DirectGibbsSteps,
    RowCollapsedSteps,
    random_state_of,
    split_large_counts,
)
from falsezero.models.discrete_pca.sampling import marginalised_steps
from falsezero.models.discrete_pca.settings import n_shards_of

SAMPLERS = [
    (name, kind)
    for name in MODELS
    for kind in (DirectGibbsSteps, RowCollapsedSteps, CollapsedSteps, GroupCollapsedSteps)
    if (kind is CollapsedSteps) != (MODELS[name][0] == "gamma-multinomial")
    or kind in (DirectGibbsSteps, RowCollapsedSteps)
    if not (kind is GroupCollapsedSteps and not MODELS[name][0].startswith("gamma-m"))
]


@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_collapsed_log_joint_is_the_marginal(name):
    steps, model = steps_of(CollapsedSteps, name, n_shards=2), tiny(name)
    blocks = blocks_of(COUNTS)
    state, local = steps.init(blocks, np.random.default_rng(3))
    c, n = counts_of(steps, Point(state, local))
    expected = reference.log_theta(model, n) + reference.log_constant(model, COUNTS)
    expected += sum(reference.log_row(model, row, 0 if model.kind == "gamma" else 1) for row in c)
    assert steps.log_joint(local[0], state) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["gamma-multinomial", "gamma, poisson block"])
def test_the_log_joint_of_a_sweep_is_of_one_state(name):
    steps, model = steps_of(GroupCollapsedSteps, name), tiny(name)
    for point, objective in run(steps, blocks_of(COUNTS), np.random.default_rng(0), 5):
        (rows,), weights = point.local, point.local[0].weights
        lengths = COUNTS[:, ~model.poisson].sum(axis=1)
        expected = reference.log_theta(model, point.state.counts)
        expected += reference.log_constant(model, COUNTS) + (rows.counts * np.log(weights)).sum()
        expected += gamma.logpdf(weights, ALPHA, scale=1 / BETA).sum()
        total = weights.sum(axis=1)
        expected -= (lengths * np.log(total) + model.poisson.any() * total).sum()
        assert objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("name", "kind"), SAMPLERS)
def test_samplers_agree_with_enumeration(name, kind):
    _, found, p = reference.enumerate_components(tiny(name), COUNTS)
    expected = p @ np.array([invariants(c, n) for c, n in found])
    steps, blocks = steps_of(kind, name), blocks_of(COUNTS)
    chain = run(steps, blocks, np.random.default_rng(7), 2500)
    draws = [invariants(*counts_of(steps, point)) for point, _ in chain][100:]
    assert np.abs(z_scores(draws, expected)).max() < 4


@pytest.mark.parametrize("name", ["dirichlet in groups", "gamma-poisson"])
def test_two_shards_agree_with_enumeration(name):
    """Two shards are an approximation; on a tiny table it is not noticed in 2400 sweeps."""
    _, found, p = reference.enumerate_components(tiny(name), COUNTS)
    expected = p @ np.array([invariants(c, n) for c, n in found])
    steps = steps_of(CollapsedSteps, name, n_shards=2)
    chain = run(steps, blocks_of(COUNTS), np.random.default_rng(8), 2500)
    draws = [invariants(*counts_of(steps, point)) for point, _ in chain][100:]
    assert np.abs(z_scores(draws, expected)).max() < 4


def test_a_wrong_prior_is_noticed():
    """Negative control: the same comparison fails for a sampler with another alpha."""
    _, found, p = reference.enumerate_components(tiny("dirichlet"), COUNTS)
    expected = p @ np.array([invariants(c, n) for c, n in found])
    steps = steps_of(CollapsedSteps, "dirichlet", alpha=ALPHA * 2)
    chain = run(steps, blocks_of(COUNTS), np.random.default_rng(7), 2500)
    draws = [invariants(*counts_of(steps, point)) for point, _ in chain][100:]
    assert np.abs(z_scores(draws, expected)).max() > 8


def _prior_components(rng, rows, k):
    weights = rng.dirichlet(ALPHA, size=rows.max() + 1)
    return (
        (rng.random(len(rows))[:, None] > weights[rows].cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    )


def _table_given(rng, rows, z, groups, shape):
    theta = rng.dirichlet(np.full(shape[1], ETA), size=len(ALPHA))
    columns = np.array([rng.choice(shape[1], p=theta[k]) for k in z])
    counts = np.zeros(shape)
    np.add.at(counts, (rows, columns), 1)
    return counts, columns


def test_geweke_collapsed():
    """Drawing words given components and components given words leaves the prior as it is."""
    rng = np.random.default_rng(11)
    rows, shape, k = np.repeat([0, 1, 2], 4), (3, 4), len(ALPHA)
    family = family_of("dirichlet")

    def statistic(c):
        return np.array([(c**2).sum(), c[:, 0].sum(), (c.sum(axis=0) ** 2).sum()])

    def count(z):
        c = np.zeros((3, k))
        np.add.at(c, (rows, z), 1)
        return c

    prior = np.array([statistic(count(_prior_components(rng, rows, k))) for _ in range(8000)])
    z, draws = _prior_components(rng, rows, k), []
    for _ in range(1500):
        counts, columns = _table_given(rng, rows, z, family.groups, shape)
        steps = CollapsedSteps(family, blocks_of(counts), Hyper(ALPHA, BETA), ETA)
        order = np.lexsort((rows, columns))
        state, local = steps.arrange([z[order].astype(np.int32)])
        steps.local_step(blocks_of(counts)[0], local[0], state, rng)
        z = np.empty_like(z)
        z[order] = local[0][0].z
        draws.append(statistic(count(z)))
    assert np.abs(z_scores(draws, prior.mean(axis=0))).max() < 4


@pytest.mark.parametrize("name", ["dirichlet", "gamma-poisson", "gamma, poisson block"])
def test_geweke_direct(name):
    """Drawing counts given weights and Theta, and these given counts, leaves the prior as it is."""
    rng = np.random.default_rng(5)
    family, n = family_of(name), 3
    hyper = Hyper(ALPHA, BETA * 2)

    def draw_prior():
        weights = rng.standard_gamma(ALPHA, (n, 2)) / (hyper.beta if family.gamma else 1)
        theta = family.normalise(rng.standard_gamma(ETA, (4, 2)))
        return (weights if family.gamma else weights / weights.sum(axis=1, keepdims=True)), theta

    def draw_counts(weights, theta):
        m = weights / weights.sum(axis=1, keepdims=True)
        counts = np.zeros((n, 4))
        for g in range(len(family.names)):
            inside = np.flatnonzero(family.groups == g)
            if family.poisson[inside[0]]:
                counts[:, inside] = rng.poisson(weights @ theta[inside].T)
            else:
                p = m @ theta[inside].T
                counts[:, inside] = rng.multinomial(3, p / p.sum(axis=1, keepdims=True))
        return counts

    def statistic(weights, theta):
        share = weights / weights.sum(axis=1, keepdims=True)
        return np.array([np.log1p(weights).sum(), share[:, 0].sum(), (theta**2).sum(), theta[0, 0]])

    prior = np.array([statistic(*draw_prior()) for _ in range(8000)])
    (weights, theta), pull, draws = draw_prior(), None, []
    for _ in range(1500):
        counts = draw_counts(weights, theta)
        blocks = blocks_of(counts)
        steps = DirectGibbsSteps(family, blocks, hyper, ETA)
        state, (rows,) = steps.init(blocks, rng)
        pull = rng.standard_gamma(steps.lengths[0]) / weights.sum(axis=1)
        rows = rows._replace(weights=weights, pull=pull)
        (rows, stats) = steps.local_step(blocks[0], rows, state._replace(theta=theta), rng)
        weights, theta = rows.weights, steps.global_step(stats, state, rng).theta
        draws.append(statistic(weights, theta))
    assert np.abs(z_scores(draws, prior.mean(axis=0))).max() < 4


def test_lists_of_32_and_64_bits_are_the_same_sampler():
    """Long documents keep wider lists; forced on short ones they change no draw."""
    chains = []
    for short in (True, False):
        steps, blocks = steps_of(CollapsedSteps, "dirichlet", n_shards=2), blocks_of(COUNTS)
        for shard in steps.shards:
            shard.short = short
        chain = run(steps, blocks, np.random.default_rng(0), 50)
        chains.append([np.append(np.concatenate([s.z for s in p.local[0]]), v) for p, v in chain])
    np.testing.assert_array_equal(*chains)


@quiet
def test_a_row_may_hold_more_tokens_than_16_bits_count():
    counts = np.array([[70_000, 3, 0], [2, 1, 80_000], [1, 1, 1]])
    fit = DiscretePCA(2, inference="collapsed_gibbs", random_state=0, **FAST).fit(counts)
    assert fit.components_.argmax(axis=1).tolist() in ([0, 2], [2, 0])


def test_a_chain_begins_with_rows_as_components():
    """Two kinds of rows without a common word are told apart before the first sweep."""
    counts = np.kron(np.eye(2, dtype=int), np.full((20, 8), 5))
    model = DiscretePCA(2, inference="collapsed_gibbs", eta=1e-4)
    blocks = model._blocks(counts, reset=True)
    state, _ = marginalised_steps(model, blocks, map_blocks).init(blocks, np.random.default_rng(1))
    assert (state.words.max(axis=1) / state.words.sum(axis=1)).min() > 0.95


@quiet
def test_draws_go_to_arviz_without_labels():
    model = DiscretePCA(2, inference="collapsed_gibbs", n_init=2, random_state=0, **FAST)
    posterior = to_datatree(model.fit(corpus(30)[0]))["posterior"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 4, "share_dim_0": 2}
    np.testing.assert_allclose(posterior["share"].sum("share_dim_0"), 1.0)


@pytest.mark.parametrize("inference", ["gibbs", "collapsed_gibbs"])
def test_a_chain_stopped_in_its_warm_up_says_where_it_was(inference):
    model = DiscretePCA(2, inference=inference, callback=lambda row: True, random_state=0)
    model.fit(COUNTS)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    assert model.objective_ == model.history_[-1]["objective"]
    assert len(model.chains_[0]["log_joint"]) == len(model.chains_[0]["share"]) == 1


def test_large_counts_are_split_as_small_ones_are_dealt():
    """A cell of 200 tokens dealt at once, beside the same one dealt token by token."""
    csr = sparse.csr_array(np.array([[200.0, 0, 3], [0, 70.0, 1]]))
    weights, theta = (
        np.array([[0.2, 0.8], [0.6, 0.4]]),
        np.array([[0.5, 0.1], [0.2, 0.7], [0.3, 0.2]]),
    )
    found = {}
    for most in (LARGE, 10**9):
        rng, draws = np.random.default_rng(0), []
        for _ in range(3000):
            counts, words = np.zeros((2, 2)), np.zeros((3, 2))
            state = random_state_of(rng)
            deal_tokens(
                csr.indptr, csr.indices, csr.data, weights, theta, counts, words, most, state
            )
            if most == LARGE:
                split_large_counts(csr, weights, theta, counts, words, rng)
            assert counts.sum(axis=1).tolist() == [203, 71]
            assert words.sum(axis=1).tolist() == [200, 70, 4]
            draws.append(np.concatenate([counts[:, 0], words[:, 0]]))
        found[most] = np.array(draws)
    p = weights[:, :, None] * theta.T
    p /= p.sum(axis=1, keepdims=True)
    expected = csr.toarray() * p[:, 0]
    expected = np.concatenate([expected.sum(axis=1), expected.sum(axis=0)])
    spread = found[10**9].std(axis=0) / np.sqrt(3000)
    for draws in found.values():
        assert (np.abs(draws.mean(axis=0) - expected) < 4.5 * spread).all()
    np.testing.assert_allclose(found[LARGE].std(axis=0), found[10**9].std(axis=0), rtol=0.08)


def test_every_token_is_dealt_once_at_the_limit():
    counts = np.array([[LARGE - 1, LARGE, LARGE + 1.0, 1]])
    steps = steps_of(DirectGibbsSteps, "dirichlet", counts)
    blocks = blocks_of(counts)
    state, [rows] = steps.init(blocks, np.random.default_rng(0))
    new, found = steps.local_step(blocks[0], rows, state, np.random.default_rng(0))
    np.testing.assert_array_equal(found.words.sum(axis=1), counts[0])
    assert new.counts.sum() == counts.sum()


def test_direct_gibbs_does_not_visit_single_tokens_of_large_counts():
    table = np.array([[1e12, 1, 0], [2e12, 0, 3], [0, 5, 1e13]])
    model = DiscretePCA(2, inference="gibbs", warmup=20, n_draws=5, random_state=0).fit(table)
    assert model.transform(table).argmax(axis=1).tolist() in ([0, 0, 1], [1, 1, 0])


@pytest.mark.parametrize(
    ("inference", "count", "words"),
    [
        ("collapsed_gibbs", 1e10, 'choose inference="gibbs" or "em"'),
        ("gibbs", 1e19, r"add up to at most 2\^53"),
        ("collapsed_gibbs", 1e19, r"add up to at most 2\^53"),
    ],
)
def test_counts_that_a_sampler_cannot_hold_are_refused(inference, count, words):
    with pytest.raises(ValueError, match=words):
        DiscretePCA(2, inference=inference).fit([[count, 1.0], [1.0, 2.0]])


def test_a_setting_without_effect_is_named():
    few = {"warmup": 2, "n_draws": 2, "thin": 1, "random_state": 0}
    with pytest.warns(UserWarning, match='max_iter has no effect on inference="gibbs"'):
        DiscretePCA(2, inference="gibbs", max_iter=7, **few).fit(COUNTS)
    with pytest.warns(UserWarning, match='warmup, n_draws, thin has no effect on inference="em"'):
        DiscretePCA(2, **few).fit(COUNTS)
    with pytest.warns(UserWarning, match="n_jobs=2 has no effect with n_shards=1"):
        DiscretePCA(2, inference="collapsed_gibbs", n_jobs=2, n_shards=1, **few).fit(COUNTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DiscretePCA(2, inference="collapsed_gibbs", n_jobs=2, **few).fit(COUNTS)
        DiscretePCA(2, random_state=0).fit(COUNTS)


def test_threads_are_used_without_asking_for_shards():
    assert n_shards_of(DiscretePCA(n_jobs=2)) == 2
    assert n_shards_of(DiscretePCA(n_jobs=2, n_shards=3)) == 3
    assert n_shards_of(DiscretePCA()) == 1
    few = {"inference": "collapsed_gibbs", "warmup": 3, "n_draws": 2, "random_state": 0}
    counts, _ = corpus(30)
    two = DiscretePCA(2, **few, n_jobs=2).fit(counts)
    same = DiscretePCA(2, **few, n_shards=2).fit(counts)
    np.testing.assert_array_equal(two.components_, same.components_)
