import numpy as np
import pytest
from tests.reference.binary_ica import dirichlet_divergence, expected_log_weights

from falsezero.kernels.dirichlet import dirichlet_factors


@pytest.mark.parametrize("prior", [[0.5, 0.5], [1.0] * 7, [1e-3, 0.5, 20.0]])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 700, 2000])
def test_factors_and_divergence_are_those_of_scipy(prior, n):
    rng = np.random.default_rng(n)
    counts = np.exp(rng.uniform(-7, 14, size=(n, len(prior))))
    factors = np.empty((len(prior), n))
    divergence = dirichlet_factors(counts.T.copy(), np.array(prior), 0.0, factors)
    expected = np.exp(expected_log_weights(counts)).T
    # Where digamma is a thousand, an error of one ulp in it shows in its exponential.
    np.testing.assert_allclose(factors, expected, rtol=1e-12, atol=1e-300)
    # scipy's log gammas of large counts cancel; what is left of them is this exact.
    rounding = 1e-15 * np.sum(counts * np.log(counts + 3))
    expected = dirichlet_divergence(counts, prior)
    assert divergence == pytest.approx(expected, rel=1e-12, abs=rounding)


def test_a_posterior_at_its_prior_has_no_divergence():
    prior = np.array([0.3, 1.0, 2.5])
    factors = np.empty((3, 50))
    counts = np.tile(prior[:, None], (1, 50))
    assert dirichlet_factors(counts, prior, 0.0, factors) == pytest.approx(0.0, abs=1e-11)


def test_factors_have_a_floor_and_may_be_narrower():
    factors = np.empty((2, 4), dtype=np.float32)
    counts = np.array([[1e-3] * 4, [50.0] * 4])
    dirichlet_factors(counts, np.array([1e-3, 1e-3]), 1e-6, factors)
    assert factors[0] == pytest.approx(1e-6)
    assert factors[1] == pytest.approx(1.0, abs=1e-4)
