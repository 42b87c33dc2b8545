from itertools import product

import numpy as np
import pytest
from tests.models.baselines.common import (
    assert_monotone,
    some_table,
)
from tests.reference.mixtures import bernoulli_em_step, bernoulli_log_joint

from falsezero.data.blocks import Blocks
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture, BernoulliSteps
from falsezero.models.baselines.mixture import Mixture


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_step_is_the_textbook_step(missing):
    X = some_table(missing=missing)
    blocks = Blocks.cut(X, block_rows=7)
    rng = np.random.default_rng(1)
    state = Mixture(np.array([0.2, 0.5, 0.3]), rng.uniform(0.1, 0.9, (3, X.shape[1])))
    steps = BernoulliSteps(3, blocks)
    results = [steps.local_step(b, None, state, None)[1] for b in blocks]
    total = type(results[0])(*(sum(parts) for parts in zip(*results, strict=True)))
    new = steps.global_step(total, state, None)
    proportions, components, log_likelihood = bernoulli_em_step(X, *state)
    np.testing.assert_allclose(new.proportions, proportions)
    np.testing.assert_allclose(new.components, components)
    np.testing.assert_allclose(steps.objective(total, state), log_likelihood)


@pytest.mark.parametrize("acceleration", ["squarem", None])
@pytest.mark.parametrize("prior", [0.0, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_never_falls(acceleration, prior, missing):
    X = some_table(missing=missing)
    options = {"acceleration": acceleration, "prior": prior, "tol": 1e-9}
    assert_monotone(BernoulliMixture(3, random_state=0, **options).fit(X))


def test_scores_are_probabilities_of_all_rows():
    X = some_table(n_columns=6)
    model = BernoulliMixture(3, random_state=0, prior=0.5).fit(X)
    everything = np.array(list(product([0.0, 1.0], repeat=6)))
    np.testing.assert_allclose(np.exp(model.score_samples(everything)).sum(), 1.0)
    joint = bernoulli_log_joint(X, model.proportions_, model.components_)
    np.testing.assert_allclose(model.score_samples(X), np.log(np.exp(joint).sum(axis=1)))
    np.testing.assert_allclose(model.score_samples(X).sum(), model.log_likelihood_)


def test_an_unobserved_cell_is_summed_out():
    X = some_table(n_columns=5)
    model = BernoulliMixture(2, random_state=0, prior=0.5).fit(X)
    row = np.array([[1.0, np.nan, 0, 1, np.nan]])
    filled = np.repeat(row, 4, axis=0)
    filled[:, [1, 4]] = list(product([0.0, 1.0], repeat=2))
    expected = np.log(np.exp(model.score_samples(filled)).sum())
    np.testing.assert_allclose(model.score_samples(row), [expected])


def test_the_fit_is_a_fixed_point():
    X = some_table()
    model = BernoulliMixture(2, random_state=0, tol=1e-13, max_iter=5000).fit(X)
    proportions, components, _ = bernoulli_em_step(X, model.proportions_, model.components_)
    np.testing.assert_allclose(components, model.components_, atol=1e-4)
    np.testing.assert_allclose(proportions, model.proportions_, atol=1e-4)


def test_groups_are_found():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=150)
    centres = np.kron(np.eye(3), np.ones(6)) * 0.8 + 0.1
    X = (rng.random((150, 18)) < centres[group]).astype(float)
    labels = BernoulliMixture(3, n_init=5, random_state=0).fit(X).predict(X)
    counts = np.array([[np.sum((labels == i) & (group == j)) for j in range(3)] for i in range(3)])
    assert counts.max(axis=1).sum() >= 145


def test_threads_change_nothing(monkeypatch):
    X = some_table(n_rows=100)
    monkeypatch.setattr(BernoulliMixture, "_block_rows", lambda self, values: 16)
    one, two = (BernoulliMixture(3, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)


def test_criteria_count_parameters():
    X = some_table()
    model = BernoulliMixture(3, random_state=0).fit(X)
    assert model.n_parameters_ == 3 * 12 + 2
    assert model.aic() == pytest.approx(-2 * model.log_likelihood_ + 2 * 38)
    assert model.bic() == pytest.approx(-2 * model.log_likelihood_ + 38 * np.log(len(X)))


def test_sample_has_the_means_of_the_model():
    model = BernoulliMixture(3, random_state=0).fit(some_table())
    drawn = model.sample(20000, random_state=1)
    mean = model.proportions_ @ model.components_
    assert np.abs(drawn.mean(axis=0) - mean).max() < 5 * 0.5 / np.sqrt(20000)
