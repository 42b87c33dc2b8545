"""Mean field and EM of Discrete PCA: climbs, bounds, learnt priors, batches."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from tests.models.discrete_pca.common import (
    BETA,
    COUNTS,
    ETA,
    FAST,
    MODELS,
    blocks_of,
    corpus,
    family_of,
    quiet,
    run,
    steps_of,
    tiny,
)
from tests.reference import discrete_pca as reference

from falsezero.kernels.topics import topic_pass
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.mean_field import EMSteps, MeanFieldSteps
from falsezero.models.discrete_pca.shards import anchored_counts


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


@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
@quiet
def test_the_bound_never_falls_while_priors_are_learnt(model, acceleration):
    fit = DiscretePCA(
        4,
        family=model,
        inference="mean_field",
        learn_alpha=True,
        acceleration=acceleration,
        random_state=0,
        max_iter=60,
    ).fit(corpus()[0])
    objective = np.array([row["objective"] for row in fit.history_])
    assert np.diff(objective).min() > -1e-9 * abs(objective[-1])


@quiet
def test_rows_and_priors_do_not_overshoot_together():
    rows = ["00400", "00111", "30030", "00051", "20040", "03110", "20210"]
    counts = np.array([[int(count) for count in row] for row in rows])
    far_off = {
        "inference": "mean_field",
        "alpha": 1.0,
        "beta": 100.0,
        "learn_alpha": True,
        "learn_beta": True,
    }
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
    assert model.completion_score(held_out) > whole.completion_score(held_out) - 0.02


def test_the_first_batch_is_asked_what_a_fit_is_asked():
    with pytest.raises(ValueError, match="eta"):
        DiscretePCA(2, eta=-1.0).partial_fit(COUNTS)


def topics(seed, n_topics=8, n_words=200, n_rows=300, length=60):
    """Counts from sparse components that share words, and the components."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    weights = rng.dirichlet(np.full(n_topics, 0.1), n_rows)
    return np.stack([rng.multinomial(length, p / p.sum()) for p in weights @ theta]), theta


def topic_error(found, theta):
    """Mean total variation between components and the true ones matched to them."""
    distance = 0.5 * np.abs(found[:, None] - theta).sum(axis=2)
    return distance[linear_sum_assignment(distance)].mean()


def test_words_beside_anchors_are_one_component_each():
    counts, theta = topics(0)
    seeds = anchored_counts(sparse.csr_array(counts), 8, np.random.default_rng(0)).toarray()
    share = seeds / seeds.sum(axis=1, keepdims=True)
    nearest = np.abs(share[:, None] - theta).sum(axis=2).argmin(axis=1)
    assert sorted(nearest) == list(range(8))


@pytest.mark.parametrize("seed", range(3))
def test_by_default_components_are_nearly_those_of_the_collapsed_sampler(seed):
    counts, theta = topics(seed)
    default = DiscretePCA(8, random_state=0).fit(counts)
    sampled = DiscretePCA(8, inference="collapsed_gibbs", random_state=0).fit(counts)
    error = topic_error(default.components_, theta)
    assert error < 1.1 * topic_error(sampled.components_, theta) + 0.01
    assert error < 0.25


@pytest.mark.parametrize("kind", [MeanFieldSteps, EMSteps])
def test_the_inner_loop_may_be_run_in_the_first_cycle_only(kind):
    blocks = blocks_of(COUNTS)

    def objectives(**options):
        steps = steps_of(kind, "dirichlet", **options)
        steps.start_sweeps = 0
        return [objective for _, objective in run(steps, blocks, np.random.default_rng(0), 6)]

    plain, every = objectives(inner=1), objectives(inner=30)
    first = objectives(inner=30, first_only=True)
    assert first[0] == every[0] > plain[0]
    assert first[1] < every[1]
    assert np.diff(first).min() > -1e-9


@pytest.mark.parametrize("inference", ["em", "mean_field"])
@quiet
def test_counts_of_any_size_cost_no_more_than_small_ones(inference):
    table = np.array([[1e8, 1, 0], [2e8, 0, 3], [0, 5, 1e10], [1, 0, 1e19]])
    model = DiscretePCA(2, inference=inference, random_state=0).fit(table)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score_samples(table)).all()
    corner = model.transform(table).argmax(axis=1)
    assert corner[0] == corner[1] != corner[3]
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
