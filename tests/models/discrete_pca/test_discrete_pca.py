"""Discrete PCA against enumeration: every marginal, bound and sampler."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import gamma
from sklearn.utils.estimator_checks import check_estimator
from tests.reference import discrete_pca as reference

from falsezero.analysis.diagnostics import to_datatree
from falsezero.analysis.evidence import log_evidence
from falsezero.analysis.topics import best_rows, distinctive_words, page_rank, top_words
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.data.table import Table
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.io.models import load, save
from falsezero.kernels.topics import topic_pass
from falsezero.models.discrete_pca.collapsed import CollapsedSteps, GroupCollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.evidence import log_what_if, row_log_likelihood
from falsezero.models.discrete_pca.family import Hyper, read_family
from falsezero.models.discrete_pca.gibbs import DirectGibbsSteps, RowCollapsedSteps
from falsezero.models.discrete_pca.mean_field import EMSteps, MeanFieldSteps

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
    rows, components, counts = steps.pairs(point.local[0])
    c[rows, components] = counts
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


# -- evidence -----------------------------------------------------------------------------------


def fitted(name, theta, alpha=ALPHA, beta=BETA, **options):
    """A model that knows its components."""
    kind, groups = MODELS[name]
    return DiscretePCA.from_components(
        theta.T, model=kind, groups=groups, alpha=alpha, beta=beta, **options
    )


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "importance") for name in MODELS]
    + [(name, "left_to_right") for name in list(MODELS)[:2]]
    + [(name, "harmonic") for name in ["dirichlet", "gamma-poisson"]],
)
def test_row_log_likelihood_is_the_sum_over_components(name, method):
    theta = family_of(name).normalise(np.random.default_rng(2).random((4, 2)) + 0.1)
    exact = [
        reference.enumerate_components(tiny(name), COUNTS[i : i + 1], theta)[0] for i in range(2)
    ]
    found = row_log_likelihood(fitted(name, theta), COUNTS, method, n_draws=3000)
    np.testing.assert_allclose(found, exact, atol=0.06 if method != "harmonic" else 0.2)


def test_what_if_is_a_ratio_of_likelihoods():
    theta = family_of("dirichlet").normalise(np.random.default_rng(2).random((4, 2)) + 0.1)
    more = np.array([[0.0, 1, 0, 0], [0, 0, 0, 2]])
    model, name = fitted("dirichlet", theta), tiny("dirichlet")
    exact = []
    for i in range(2):
        both, one = COUNTS[i : i + 1] + more[i : i + 1], COUNTS[i : i + 1]
        log_p = [reference.enumerate_components(name, w, theta)[0] for w in (both, one)]
        log_c = [reference.log_constant(name, w) for w in (both, one, more[i : i + 1])]
        exact.append(log_p[0] - log_c[0] - log_p[1] + log_c[1] + log_c[2])
    np.testing.assert_allclose(log_what_if(model, COUNTS, more, 4000), exact, atol=0.05)


@pytest.mark.parametrize("method", ["annealed", "harmonic"])
@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_evidence_is_the_sum_over_components(name, method):
    beta = np.full(2, 0.5)
    exact, _, _ = reference.enumerate_components(tiny(name)._replace(beta=beta), COUNTS)
    kind, groups = MODELS[name]
    model = DiscretePCA(2, model=kind, groups=groups, alpha=ALPHA, beta=beta, eta=ETA)
    found = log_evidence(model, COUNTS, method=method, n_steps=100, n_chains=20, random_state=0)
    assert found.value == pytest.approx(exact, abs=0.08 if method == "annealed" else 0.3)


# -- the estimator ------------------------------------------------------------------------------

INFERENCES = ["mean_field", "em", "gibbs", "collapsed_gibbs"]
FAST = {"warmup": 15, "n_draws": 4, "thin": 1, "max_iter": 20}
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def corpus(n=80, seed=0):
    """Counts from three components with words of their own."""
    rng = np.random.default_rng(seed)
    theta = np.kron(np.eye(3), np.full(5, 0.2))
    weights = rng.dirichlet(np.full(3, 0.2), size=n)
    return np.stack([rng.multinomial(40, p) for p in weights @ theta]).astype(float), theta


@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("inference", INFERENCES)
@quiet
def test_every_way_of_fitting_finds_the_components(model, inference):
    counts, theta = corpus()
    options = FAST | {"warmup": 60, "n_draws": 10, "max_iter": 100}
    fit = DiscretePCA(3, family=model, inference=inference, alpha=0.2, random_state=1, **options)
    fit.fit(counts)
    np.testing.assert_allclose(fit.components_.sum(axis=1), 1.0, rtol=1e-5)
    overlap = fit.components_ @ (theta > 0).T
    assert sorted(overlap.argmax(axis=1)) == [0, 1, 2]
    assert overlap.max(axis=1).min() > 0.9
    assert fit.row_weights_.shape == (80, 3)
    assert fit.score(corpus(30, seed=1)[0]) > np.log(1 / 15) + 0.5


@quiet
def test_a_tiny_group_example_is_normalised_group_by_group():
    counts, _ = corpus()
    groups = np.repeat(["noun", "verb", "poisson"], 5)
    fit = DiscretePCA(3, family="gamma-multinomial", groups=groups, random_state=0, **FAST).fit(
        counts
    )
    for name in np.unique(groups):
        np.testing.assert_allclose(fit.components_[:, groups == name].sum(axis=1), 1.0)
    drawn = fit.sample(4, length=[7, 3, 0], random_state=0)
    assert drawn[:, groups == "noun"].sum(axis=1).tolist() == [7] * 4


EDGES = {
    "zeros": np.zeros((4, 3)),
    "one row": np.array([[3.0, 0, 1]]),
    "one column": np.array([[3.0], [0.0], [2.0]]),
    "an empty row": np.array([[0.0, 0, 0], [1, 2, 0]]),
    "one token": np.array([[0.0, 1.0], [0.0, 0.0]]),
    "large counts": np.array([[1e5, 0.0], [3.0, 2e4]]),
}


@pytest.mark.parametrize("table", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("inference", INFERENCES)
@quiet
def test_edges_give_finite_numbers(table, model, inference):
    fit = DiscretePCA(3, family=model, inference=inference, random_state=0, **FAST).fit(table)
    for array in (fit.components_, fit.transform(table), fit.reconstruct(table), fit.alpha_):
        assert np.isfinite(array).all()
    assert np.isfinite(fit.score(table))


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
    state, _ = model._collapsed(blocks, map_blocks).init(blocks, np.random.default_rng(1))
    assert (state.words.max(axis=1) / state.words.sum(axis=1)).min() > 0.95


@quiet
def test_without_a_component_a_row_expects_as_many_tokens():
    counts, _ = corpus(40)
    fit = DiscretePCA(3, family="gamma-poisson", random_state=0).fit(counts)
    with_all, without = fit.reconstruct(counts), fit.reconstruct(counts, keep=[0, 1, 1])
    np.testing.assert_allclose(without.sum(axis=1), with_all.sum(axis=1), rtol=1e-6)
    assert np.abs(without - with_all).max() > 1


@quiet
def test_threads_and_blocks_change_nothing():
    counts, _ = corpus(200)
    fits = [
        DiscretePCA(
            3, inference="collapsed_gibbs", n_shards=3, n_jobs=n_jobs, random_state=0, **FAST
        ).fit(counts)
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)


@quiet
@pytest.mark.parametrize("inference", INFERENCES)
def test_sparse_and_dense_tables_give_the_same_fit(inference):
    counts, _ = corpus(40)
    dense, thin = (
        DiscretePCA(2, inference=inference, random_state=0, **FAST).fit(table).components_
        for table in (counts, sparse.csr_matrix(counts))
    )
    np.testing.assert_array_equal(dense, thin)


@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
@quiet
def test_the_bound_never_falls_while_priors_are_learnt(model, acceleration):
    fit = DiscretePCA(
        4, family=model, learn_alpha=True, acceleration=acceleration, random_state=0, max_iter=60
    ).fit(corpus()[0])
    objective = np.array([row["objective"] for row in fit.history_])
    assert np.diff(objective).min() > -1e-9 * abs(objective[-1])


@quiet
def test_rows_and_priors_do_not_overshoot_together():
    rows = ["00400", "00111", "30030", "00051", "20040", "03110", "20210"]
    counts = np.array([[int(count) for count in row] for row in rows])
    far_off = {"alpha": 1.0, "beta": 100.0, "learn_alpha": True, "learn_beta": True}
    fit = DiscretePCA(
        5, family="gamma-poisson", **far_off, max_iter=40, tol=0, random_state=11
    ).fit(counts)
    objective = np.array([row["objective"] for row in fit.history_])
    assert np.diff(objective).min() > -1e-9 * abs(objective[-1])


@quiet
def test_alpha_is_learnt_from_the_data():
    counts, _ = corpus(400)
    for inference in ("mean_field", "gibbs", "collapsed_gibbs"):
        options = FAST | {"warmup": 100, "max_iter": 200}
        fit = DiscretePCA(
            3, inference=inference, alpha=1.5, learn_alpha=True, random_state=0, **options
        ).fit(counts)
        assert 0.1 < fit.alpha_.mean() < 0.35, inference


@pytest.mark.parametrize(
    ("options", "table", "words"),
    [
        ({}, [[1.0, np.nan]], "NaN"),
        ({}, [[1.0, -2.0]], "Negative"),
        ({"inference": "gibbs"}, [[1.5, 2.0]], "whole counts"),
        ({"groups": ["a"]}, [[1.0, 2.0]], "one group per column"),
        ({"groups": ["a", "poisson"]}, [[1.0, 2.0]], "gamma-multinomial"),
        ({"family": "gamma-poisson", "groups": ["a", "b"]}, [[1.0, 2.0]], "no groups="),
        ({"alpha": [1.0, 2.0]}, [[1.0, 2.0]], "alpha="),
        ({"inference": "em", "learn_alpha": True}, [[1.0, 2.0]], "cannot learn"),
    ],
)
def test_errors_say_what_mends_them(options, table, words):
    with pytest.raises(ValueError, match=words):
        DiscretePCA(3, **options).fit(np.asarray(table))


@quiet
def test_scikit_learn_accepts_it():
    check_estimator(DiscretePCA(2, max_iter=30))


@quiet
def test_batches_find_what_the_whole_table_holds():
    counts, theta = corpus(400)
    model = DiscretePCA(3, alpha=0.2, total_samples=400, random_state=3)
    for _ in range(6):
        for start in range(0, 400, 50):
            model.partial_fit(counts[start : start + 50])
    overlap = model.components_ @ (theta > 0).T
    assert overlap.max(axis=1).min() > 0.9
    whole = DiscretePCA(3, alpha=0.2, random_state=3, n_init=3, max_iter=100).fit(counts)
    held_out = corpus(100, seed=9)[0]
    assert model.score(held_out) > whole.score(held_out) - 0.02


@quiet
def test_draws_go_to_arviz_without_labels():
    model = DiscretePCA(2, inference="collapsed_gibbs", n_init=2, random_state=0, **FAST)
    posterior = to_datatree(model.fit(corpus(30)[0]))["posterior"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 4, "share_dim_0": 2}
    np.testing.assert_allclose(posterior["share"].sum("share_dim_0"), 1.0)


@quiet
def test_reading_aids_name_the_words_and_rows_of_a_component():
    counts, theta = corpus(60)
    table = Table(counts, columns=[f"w{j}" for j in range(15)])
    model = DiscretePCA(3, alpha=0.2, random_state=1, max_iter=80).fit(table)
    own = [{f"w{j}" for j in np.flatnonzero(row)} for row in theta]
    for tidy, words in ((top_words(model, 5), 5), (distinctive_words(model, table, 4), 4)):
        for k in range(3):
            found = set(tidy["word"][tidy["component"] == k])
            assert len(found) == words
            assert any(found <= words_of for words_of in own)
    best = best_rows(model, table, 1)
    assert best["share"].min() > 0.9
    ring = sparse.csr_array(np.roll(np.eye(60), 1, axis=1))
    rank = page_rank(model, table, ring)
    np.testing.assert_allclose(rank.sum(axis=0), 1.0)
    favourite = rank.argmax(axis=0)
    assert (np.asarray(model.transform(table).to_numpy())[favourite, range(3)] > 0.5).all()


@quiet
def test_a_saved_model_goes_on_where_it_was(tmp_path):
    counts, _ = corpus(40)
    model = DiscretePCA(2, groups=["a"] * 9 + ["b"] * 6, random_state=0, **FAST).fit(counts)
    save(model, tmp_path / "model.fz")
    again = load(tmp_path / "model.fz")
    np.testing.assert_array_equal(again.transform(counts), model.transform(counts))
    one, other = (m.partial_fit(counts).components_ for m in (model, again))
    np.testing.assert_array_equal(one, other)


def test_components_can_be_removed_where_no_rows_were_kept():
    known = DiscretePCA.from_components([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], alpha=[0.1, 0.4])
    np.testing.assert_allclose(known.reconstruct([[3, 2, 0]], keep=[0, 1]), [[0, 0, 1]], atol=1e-9)
    batch = DiscretePCA(2, random_state=0).partial_fit(COUNTS)
    assert np.isfinite(batch.reconstruct(COUNTS, keep=[1, 0])).all()


def test_weights_of_a_dirichlet_have_no_rate():
    theta = [[1.0, 0.0], [0.0, 1.0]]
    model = DiscretePCA.from_components(theta, alpha=[2.0, 6.0], beta=[1.0, 100.0])
    drawn = model.sample(2000, random_state=0)
    # E[m] = alpha / sum alpha, with a standard error of 0.145 / sqrt(2000).
    assert drawn[:, 0].mean() / 100 == pytest.approx(0.25, abs=0.013)


def test_a_fit_leaves_nothing_of_the_last_one():
    model = DiscretePCA(2, random_state=0, warmup=2, n_draws=2, thin=1).fit(COUNTS)
    model.set_params(inference="gibbs").fit(COUNTS)
    assert not hasattr(model, "word_shape_")
    model.set_params(inference="em").fit(COUNTS)
    assert not hasattr(model, "chains_")


@pytest.mark.parametrize("inference", ["gibbs", "collapsed_gibbs"])
def test_a_chain_stopped_in_its_warm_up_says_where_it_was(inference):
    model = DiscretePCA(2, inference=inference, callback=lambda row: True, random_state=0)
    model.fit(COUNTS)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    assert model.objective_ == model.history_[-1]["objective"]
    assert len(model.chains_[0]["log_joint"]) == len(model.chains_[0]["share"]) == 1


def test_the_first_batch_is_asked_what_a_fit_is_asked():
    with pytest.raises(ValueError, match="eta"):
        DiscretePCA(2, eta=-1.0).partial_fit(COUNTS)
