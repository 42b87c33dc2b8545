import numpy as np
import pytest
from scipy.special import gammaln
from tests.models.baselines.common import (
    assert_monotone,
    some_table,
)
from tests.reference.mixtures import unigram_log_joint

from falsezero.models.baselines.unigram_mixture import UnigramMixture


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_scores_are_the_slow_sum(missing):
    X = some_table(missing=missing, high=4)
    model = UnigramMixture(3, prior=1.0, random_state=0).fit(X)
    joint = np.exp(unigram_log_joint(X, model.proportions_, model.components_))
    counts = np.nan_to_num(X)
    orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), np.log(joint.sum(axis=1)) + orders)
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


@pytest.mark.parametrize("acceleration", ["squarem", None])
@pytest.mark.parametrize("prior", [0.0, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_never_falls(acceleration, prior, missing):
    X = some_table(missing=missing, high=4)
    options = {"acceleration": acceleration, "prior": prior, "tol": 1e-9}
    assert_monotone(UnigramMixture(3, random_state=0, **options).fit(X))


def test_with_missing_cells_the_fit_is_a_maximum():
    X = some_table(n_rows=15, n_columns=4, missing=0.3, high=5)
    model = UnigramMixture(1, tol=1e-14, max_iter=3000, random_state=0).fit(X)
    best = unigram_log_joint(X, model.proportions_, model.components_).sum()
    for step in np.random.default_rng(0).normal(0, 0.02, (30, 1, 4)):
        other = model.components_ * np.exp(step)
        assert unigram_log_joint(X, [1.0], other / other.sum()).sum() <= best + 1e-9


def test_cells_not_observed_get_what_each_component_would_have_put_there():
    X = np.array([[6.0, 1, 0, 9], [5, 2, 0, 7], [0, 1, 8, 0], [1, 0, 9, 1]] * 5)
    model = UnigramMixture(2, prior=1.0, random_state=0).fit(X)
    X[:, 3] = np.nan
    shares, phi = model.predict_proba(X), model.components_
    total = np.nansum(X, axis=1)
    expected = [
        sum(w[k] * length / phi[k, :3].sum() * phi[k] for k in range(2))
        for w, length in zip(shares, total, strict=True)
    ]
    np.testing.assert_allclose(model.reconstruct(X), expected, rtol=1e-6)
    np.testing.assert_allclose(model.reconstruct(X)[:, :3].sum(axis=1), total)


def test_reconstruct_gives_expected_counts():
    X = some_table(high=4)
    model = UnigramMixture(2, random_state=0).fit(X)
    expected = model.predict_proba(X) @ model.components_ * X.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.reconstruct(X), expected)


def test_sample_has_the_totals_and_means_of_the_model():
    X = some_table(high=4)
    model = UnigramMixture(2, random_state=0).fit(X)
    drawn = model.sample(20000, random_state=1)
    assert set(drawn.sum(axis=1)) <= set(X.sum(axis=1))
    share = drawn.sum(axis=0) / drawn.sum()
    np.testing.assert_allclose(share, model.proportions_ @ model.components_, atol=0.01)
