import numpy as np
import pytest

from falsezero.inference.agreement import bulk_ess, r_hat, tail_ess


def chains(correlation, shift=0.0, shape=(4, 300), seed=0):
    values = np.random.default_rng(seed).normal(size=shape)
    for t in range(1, shape[1]):
        values[:, t] += correlation * values[:, t - 1]
    return values + shift * np.arange(shape[0])[:, None]


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9])
def test_numbers_are_those_of_arviz(correlation, shift):
    stats = pytest.importorskip("arviz_stats.base").array_stats
    values = chains(correlation, shift)
    assert r_hat(values) == pytest.approx(stats.rhat(values), rel=1e-9)
    assert bulk_ess(values) == pytest.approx(stats.ess(values, method="bulk"), rel=0.05)
    tail = stats.ess(values, method="tail", prob=(0.05, 0.95))
    assert tail_ess(values) == pytest.approx(tail, rel=0.1)


def test_the_effective_size_of_an_autoregression_is_known():
    # n (1 - phi) / (1 + phi), from the sum of its autocorrelations.
    assert bulk_ess(chains(0.5, shape=(8, 4000))) == pytest.approx(32000 / 3, rel=0.1)


def test_chains_that_stand_still_have_no_number_or_an_infinite_one():
    assert np.isnan(r_hat(np.ones((3, 10))))
    assert np.isnan(bulk_ess(np.ones((3, 10))))
    assert np.isnan(r_hat(np.arange(6.0).reshape(2, 3)))
    assert r_hat(np.repeat([[0.0], [1.0], [2.0]], 10, axis=1)) == np.inf


def test_a_trend_is_seen_within_one_chain():
    drift = np.linspace(0, 3, 200) + np.random.default_rng(0).normal(size=200) * 0.3
    assert r_hat(drift[None]) > 1.5
