"""Discrete PCA against enumeration: every marginal, bound and sampler."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.kernels.topics import topic_pass
from falsezero.models._discrete_collapsed import CollapsedSteps, GroupCollapsedSteps
from falsezero.models._discrete_family import Hyper, read_family
from falsezero.models._discrete_gibbs import DirectGibbsSteps, RowCollapsedSteps
from falsezero.models._discrete_mean_field import EMSteps, MeanFieldSteps
from falsezero.models.discrete_pca import DiscretePCA
from tests.reference import discrete_pca as reference

COUNTS = np.array([[2.0, 0, 1, 1], [0, 2, 1, 0]])
GROUPS = ["a", "a", "b", "b"]
WITH_POISSON = ["poisson", "poisson", "b", "b"]
ALPHA, BETA, ETA = np.array([0.4, 0.9]), np.array([0.3, 0.7]), 0.6

MODELS = {
    "dirichlet": ("dirichlet-multinomial", None),
    "dirichlet in groups": ("dirichlet-multinomial", GROUPS),
    "gamma-poisson": ("gamma-poisson", None),
    "gamma-multinomial": ("gamma-multinomial", GROUPS),
    "gamma, poisson block": ("gamma-multinomial", WITH_POISSON),
}
SAMPLERS = [
    (name, kind)
    for name in MODELS
    for kind in (DirectGibbsSteps, RowCollapsedSteps, CollapsedSteps, GroupCollapsedSteps)
    if (kind is CollapsedSteps) != (MODELS[name][0] == "gamma-multinomial")
    or kind in (DirectGibbsSteps, RowCollapsedSteps)
    if not (kind is GroupCollapsedSteps and not MODELS[name][0].startswith("gamma-m"))
]


def blocks_of(counts, block_rows=None):
    return Blocks.cut(sparse.csr_array(np.asarray(counts, dtype=float)), block_rows or len(counts))


def family_of(name, n_columns=4):
    return read_family(*MODELS[name], n_columns)


def tiny(name, alpha=ALPHA):
    family = family_of(name)
    kind = "gamma" if family.gamma else "dirichlet"
    return reference.Tiny(kind, alpha, BETA, ETA, family.groups, family.poisson)


def steps_of(kind, name, counts=COUNTS, alpha=ALPHA, **options):
    return kind(family_of(name), blocks_of(counts), Hyper(alpha, BETA), ETA, **options)


def run(steps, blocks, rng, n):
    """Points of a chain or a climb, with the objective of each."""
    point = Point(*steps.init(blocks, rng))
    advance = advancer(steps, blocks, map_blocks, rng=rng)
    for _ in range(n):
        point, objective, _ = advance(point)
        yield point, objective


def counts_of(steps, point):
    """Tokens by row and component, and by word and component."""
    if not isinstance(steps, CollapsedSteps):
        return np.concatenate([rows.counts for rows in point.local]), point.state.counts
    c = np.zeros((len(steps.tokens), len(steps.hyper.alpha)))
    for shard, lists in zip(steps.shards, point.local[0], strict=True):
        rows, components, counts = lists.pairs(shard)
        c[rows + shard.rows.start, components] = counts
    return c, point.state.words


def invariants(c, n):
    """Quantities that do not depend on the names of the components."""
    return np.array([(c**2).sum(), (n**2).sum(), (c.sum(axis=0) ** 2).sum()])


def z_scores(draws, expected, batches=25):
    """Distance from what is expected in Monte Carlo standard errors, by batch means."""
    means = np.stack([part.mean(axis=0) for part in np.array_split(np.asarray(draws), batches)])
    return (means.mean(axis=0) - expected) / (means.std(axis=0, ddof=1) / np.sqrt(batches))


# -- kernels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_pass_is_its_slow_twin(dtype):
    rng = np.random.default_rng(0)
    values = rng.poisson(0.5, (7, 9)).astype(dtype)
    weights, theta = rng.random((7, 5)).astype(dtype), rng.random((9, 5)).astype(dtype)
    csr = sparse.csr_array(values)
    rows, words = np.empty((7, 5), dtype), np.zeros((9, 5), dtype)
    log_z = topic_pass(csr.indptr, csr.indices, csr.data, weights, theta, rows, words)
    for mine, twin in zip(
        (rows, words, log_z), reference.topic_pass(values, weights, theta), strict=True
    ):
        np.testing.assert_allclose(mine, twin, rtol=1e-12 if dtype == np.float64 else 1e-4)


# -- marginals and bounds -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_collapsed_log_joint_is_the_marginal(name):
    steps, model = steps_of(CollapsedSteps, name, n_shards=2), tiny(name)
    blocks = blocks_of(COUNTS)
    state, local = steps.init(blocks, np.random.default_rng(3))
    c, n = counts_of(steps, Point(state, local))
    expected = reference.log_theta(model, n) + reference.log_constant(model, COUNTS)
    expected += sum(reference.log_row(model, row, 0 if model.kind == "gamma" else 1) for row in c)
    assert steps.log_joint(local[0], state) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("inner", [1, 20])
def test_mean_field_climbs_and_stays_below_the_evidence(name, inner):
    evidence, _, _ = reference.enumerate_components(tiny(name), COUNTS)
    steps, blocks = steps_of(MeanFieldSteps, name, inner=inner), blocks_of(COUNTS, 1)
    steps.lengths = {b.start: steps.family.lengths(b.csr) for b in blocks}
    bounds = [bound for _, bound in run(steps, blocks, np.random.default_rng(1), 60)]
    assert np.diff(bounds).min() > -1e-9
    assert evidence - 4.0 < bounds[-1] < evidence


@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_with_one_component_the_bound_is_the_evidence(name):
    """Nothing is left to approximate: q(Theta) and q(l) are the posterior."""
    alpha = np.array([0.7])
    model = tiny(name, alpha)._replace(beta=BETA[:1])
    evidence, _, _ = reference.enumerate_components(model, COUNTS)
    steps = MeanFieldSteps(family_of(name), blocks_of(COUNTS), Hyper(alpha, BETA[:1]), ETA)
    *_, (_, bound) = run(steps, blocks_of(COUNTS), np.random.default_rng(0), 4)
    assert bound == pytest.approx(evidence, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_em_climbs_to_a_point_that_it_keeps(name):
    steps, blocks = steps_of(EMSteps, name), blocks_of(COUNTS)
    *points, (last, _) = run(steps, blocks, np.random.default_rng(2), 3000)
    assert np.diff([objective for _, objective in points]).min() > -1e-10
    before = points[-1][0]
    np.testing.assert_allclose(last.state.factors, before.state.factors, atol=1e-5)
    by_group = steps.family.group_sums(last.state.factors)
    np.testing.assert_allclose(by_group, 1.0)


# -- samplers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), SAMPLERS)
def test_samplers_agree_with_enumeration(name, kind):
    _, found, p = reference.enumerate_components(tiny(name), COUNTS)
    expected = p @ np.array([invariants(c, n) for c, n in found])
    steps, blocks = steps_of(kind, name), blocks_of(COUNTS)
    chain = run(steps, blocks, np.random.default_rng(7), 2500)
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
    return (rng.random(len(rows))[:, None] > weights[rows].cumsum(axis=1)).sum(axis=1).clip(0, k - 1)


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

    prior = np.array([statistic(count(_prior_components(rng, rows, k))) for _ in range(20000)])
    z, draws = _prior_components(rng, rows, k), []
    for _ in range(4000):
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
    """Drawing counts given (l, Theta) and (l, Theta) given counts leaves the prior as it is."""
    rng = np.random.default_rng(5)
    family, n = family_of(name), 3
    hyper = Hyper(ALPHA, BETA * 2)

    def draw_prior():
        l = rng.standard_gamma(ALPHA, (n, 2)) / (hyper.beta if family.gamma else 1)
        theta = family.normalise(rng.standard_gamma(ETA, (4, 2)))
        return (l if family.gamma else l / l.sum(axis=1, keepdims=True)), theta

    def draw_counts(l, theta):
        m = l / l.sum(axis=1, keepdims=True)
        counts = np.zeros((n, 4))
        for g in range(len(family.names)):
            inside = np.flatnonzero(family.groups == g)
            if family.poisson[inside[0]]:
                counts[:, inside] = rng.poisson(l @ theta[inside].T)
            else:
                p = m @ theta[inside].T
                counts[:, inside] = rng.multinomial(3, p / p.sum(axis=1, keepdims=True))
        return counts

    def statistic(l, theta):
        share = l / l.sum(axis=1, keepdims=True)
        return np.array([np.log1p(l).sum(), share[:, 0].sum(), (theta**2).sum(), theta[0, 0]])

    prior = np.array([statistic(*draw_prior()) for _ in range(20000)])
    (l, theta), pull, draws = draw_prior(), None, []
    for _ in range(4000):
        counts = draw_counts(l, theta)
        blocks = blocks_of(counts)
        steps = DirectGibbsSteps(family, blocks, hyper, ETA)
        state, (rows,) = steps.init(blocks, rng)
        pull = rng.standard_gamma(steps.lengths[0]) / l.sum(axis=1)
        rows = rows._replace(weights=l, pull=pull)
        (rows, stats) = steps.local_step(blocks[0], rows, state._replace(theta=theta), rng)
        l, theta = rows.weights, steps.global_step(stats, state, rng).theta
        draws.append(statistic(l, theta))
    assert np.abs(z_scores(draws, prior.mean(axis=0))).max() < 4
