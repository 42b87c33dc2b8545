"""How a DiscretePCA puts its parts together: steps, chains, and learning from batches."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.discrete_pca.common import ALPHA, BETA, COUNTS, ETA, GROUPS, WITH_POISSON

from falsezero.models.discrete_pca import discrete_pca, sampling
from falsezero.models.discrete_pca.collapsed import CollapsedSteps, GroupCollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.gibbs import DirectGibbsSteps, RowCollapsedSteps
from falsezero.models.discrete_pca.mean_field import EMSteps, MeanFieldSteps
from falsezero.models.discrete_pca.settings import warn_of_no_effect


def steps_of(**options):
    model = DiscretePCA(2, alpha=ALPHA, beta=BETA, eta=ETA, **options)
    return model._steps(model._blocks(COUNTS, reset=True))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"inference": "mean_field"}, MeanFieldSteps),
        ({"inference": "em"}, EMSteps),
        ({"inference": "gibbs"}, DirectGibbsSteps),
        ({"inference": "collapsed_gibbs", "collapse": "weights"}, RowCollapsedSteps),
        (
            {"inference": "collapsed_gibbs", "family": "gamma-multinomial", "groups": GROUPS},
            GroupCollapsedSteps,
        ),
    ],
)
def test_settings_choose_the_steps(options, kind):
    steps = steps_of(**options)
    assert type(steps) is kind
    np.testing.assert_array_equal(steps.hyper.alpha, ALPHA)
    np.testing.assert_array_equal(steps.hyper.beta, BETA)
    assert steps.eta == ETA


def test_inner_cycles_and_warm_up_reach_the_steps():
    for cycles, first_only in (("first", True), ("every", False)):
        steps = steps_of(inference="mean_field", inner_iter=7, inner_cycles=cycles)
        assert steps.first_only is first_only
        assert steps.inner == 7
    steps = steps_of(inference="gibbs", warmup=17, learn_alpha=True)
    assert (steps.warmup, steps.learn) == (17, (True, False))


@pytest.mark.parametrize(
    ("family", "groups", "length"),
    [("gamma-poisson", None, 3.5), ("gamma-multinomial", WITH_POISSON, 2.0)],
)
def test_rates_begin_at_the_mean_length(family, groups, length):
    """sum_k alpha_k / beta tokens a row are expected in the Poisson block."""
    model = DiscretePCA(2, family=family, groups=groups, alpha=ALPHA)
    blocks = model._blocks(COUNTS, reset=True)
    hyper = model._priors(model._family(4), blocks)
    np.testing.assert_allclose(hyper.beta, ALPHA.sum() / length)
    empty = model._blocks(np.zeros((2, 4)), reset=True)
    np.testing.assert_allclose(model._priors(model._family(4), empty).beta, ALPHA.sum() / 1e-3)


def test_the_chain_of_the_highest_mean_is_kept(monkeypatch):
    means = iter([-9.0, -4.0, -6.0])

    def chain(model, blocks, seed):
        mean = next(means)
        trace = {"log_joint": np.array([mean - 1, mean + 1]), "seed": seed}
        return SimpleNamespace(trace=lambda history: trace, mean=mean), [1, 2, 3]

    monkeypatch.setattr(discrete_pca, "run_chain", chain)
    model = DiscretePCA(2, inference="gibbs", n_init=3, random_state=0)
    fit = model._optimise(None)
    assert fit.state.mean == fit.objective == -4
    assert (fit.converged, fit.n_iter) == (True, 3)
    assert len(model.chains_) == 3
    assert len({chain["seed"].spawn_key for chain in model.chains_}) == 3


@pytest.mark.parametrize(
    ("family", "collapse", "is_sharded"),
    [
        ("dirichlet-multinomial", "all", True),
        ("dirichlet-multinomial", "weights", False),
        ("gamma-multinomial", "all", False),
    ],
)
def test_a_chain_has_the_length_that_was_asked_for(family, collapse, is_sharded, monkeypatch):
    asked = {}

    def sample(steps, blocks, seeds, **options):
        asked.update(options, steps=steps)
        return [SimpleNamespace(last="last", history=["row"])]

    monkeypatch.setattr(sampling, "sample", sample)
    monkeypatch.setattr(sampling.Posterior, "add", lambda self, point: asked.update(last=point))
    model = DiscretePCA(
        2, inference="collapsed_gibbs", family=family, collapse=collapse, warmup=6, n_draws=4,
        thin=3, callback=print,
    )  # fmt: skip
    posterior, history = sampling.run_chain(model, model._blocks(COUNTS, reset=True), "seed")
    assert (asked["warmup"], asked["draws"], asked["thin"]) == (6, 4, 3)
    assert asked["listeners"][-1] is print
    assert isinstance(asked["steps"], CollapsedSteps) is is_sharded
    # A chain that was stopped before its first draw says where it was.
    assert asked["last"] == "last"
    assert posterior.n_draws == 0
    assert history == ["row"]


@pytest.mark.parametrize("inference", ["mean_field", "em"])
def test_a_batch_moves_the_shapes_by_its_stride(inference):
    model = DiscretePCA(
        2, inference=inference, alpha=ALPHA, eta=ETA, total_samples=50, learning_offset=3.0,
        learning_decay=0.6, random_state=0,
    )  # fmt: skip
    model.partial_fit(COUNTS)
    assert model.n_batches_ == 1
    batch = np.tile(COUNTS[::-1], (2, 1))
    before = model.word_shape_
    blocks = model._blocks(batch, reset=False)
    steps = model._ascent(model.family_, blocks, Hyper(model.alpha_, model.beta_), ETA, inner=100)
    state = steps.read_words(before, steps.hyper)
    words = 0.0
    for block in blocks:
        rows = steps.start_rows(block, steps.hyper)
        words = words + steps.local_step(block, rows, state, None)[1].words * state.factors
    np.testing.assert_allclose(words.sum(axis=1), batch.sum(axis=0), rtol=1e-6)
    stride = (3 + 1) ** -0.6
    expected = (1 - stride) * before + stride * (ETA + words * 50 / 4)
    model.partial_fit(batch)
    np.testing.assert_allclose(model.word_shape_, expected, rtol=1e-6)
    np.testing.assert_allclose(model.components_, (expected / expected.sum(axis=0)).T, rtol=1e-6)
    assert model.n_batches_ == 2
    assert model.fit(COUNTS).n_batches_ == 0


def test_components_come_by_their_weight():
    model = DiscretePCA(3, inference="mean_field", alpha=[0.2, 0.5, 0.9], random_state=0)
    model.fit(np.random.default_rng(0).poisson(2.0, (20, 6)))
    totals = model.row_weights_.sum(axis=0)
    assert (np.diff(totals) <= 0).all()
    assert sorted(model.alpha_) == [0.2, 0.5, 0.9]
    shape = model.word_shape_
    np.testing.assert_allclose(model.components_, (shape / shape.sum(axis=0)).T, rtol=1e-6)
    theta = DiscretePCA.from_components([[2.0, 2.0, 0.0], [0.0, 1.0, 3.0]]).components_
    np.testing.assert_allclose(theta, [[0.5, 0.5, 0], [0, 0.25, 0.75]], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inference": "em"}, []),
        ({"inference": "mean_field", "max_iter": 7}, []),
        ({"inference": "mean_field", "thin": 7}, ["thin has no effect"]),
        ({"inference": "gibbs", "thin": 7}, []),
        ({"inference": "gibbs", "max_iter": 7}, ["max_iter has no effect"]),
        ({"inference": "gibbs", "n_shards": 1, "n_jobs": 2}, []),
        ({"inference": "collapsed_gibbs", "tol": 0.5}, ["tol has no effect"]),
        ({"inference": "collapsed_gibbs", "n_shards": 1, "n_jobs": 2}, ["n_jobs=2 has no effect"]),
        ({"inference": "collapsed_gibbs", "n_shards": 1}, []),
        ({"inference": "collapsed_gibbs", "n_shards": 2, "n_jobs": 2}, []),
        (
            {"inference": "collapsed_gibbs", "collapse": "weights", "n_shards": 1, "n_jobs": 2},
            [],
        ),
    ],
)
def test_settings_without_effect_are_told(options, words):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_no_effect(DiscretePCA(2, **options))
    assert len(told) == len(words)
    for warning, start in zip(told, words, strict=True):
        assert str(warning.message).startswith(start)
