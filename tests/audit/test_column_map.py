"""The map that revisits teach, against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from falsezero.audit.column_map import fit_column_map


def revisits(seed=0, n=600, n_columns=5):
    rng = np.random.default_rng(seed)
    odds, column = rng.normal(-1, 2, n), rng.integers(0, n_columns - 1, n)
    effects = np.array([1.0, -1.0, 0.3, 0.0, 9.0])
    hit = rng.random(n) < expit(-0.5 + 0.8 * odds + effects[column])
    return odds, hit, column


def test_the_map_is_the_most_probable_one():
    odds, hit, column = revisits()

    def loss(at):
        eta = at[0] + at[1] * odds + at[2:][column]
        penalty = 1e-6 * at[0] ** 2 + 50 * (at[1] - 1) ** 2 + 20 * (at[2:] ** 2).sum()
        return (np.logaddexp(0, eta) - hit * eta).sum() + 0.5 * penalty

    best = minimize(loss, np.r_[0.0, 1.0, np.zeros(5)], options={"gtol": 1e-7}).x
    found = fit_column_map(odds, hit, column, 5)
    np.testing.assert_allclose([found.level, found.slope, *found.effects], best, atol=1e-4)
    assert found.effects[0] > 0.3 > -0.3 > found.effects[1]
    assert found.effects[4] == pytest.approx(0, abs=1e-12)
    assert found(np.array([0.5]), np.array([2]))[0] == pytest.approx(
        expit(best[0] + 0.5 * best[1] + best[4]), abs=1e-4
    )


@pytest.mark.parametrize("hits", [0, 1, 40])
def test_few_or_only_hits_give_finite_maps(hits):
    odds = np.linspace(-9, 9, 40)
    found = fit_column_map(odds, np.arange(40) < hits, np.zeros(40, int), 1)
    assert np.isfinite([found.level, found.slope, *found.effects]).all()
