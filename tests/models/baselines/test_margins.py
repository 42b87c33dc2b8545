"""Row and column effects: every equation solved to its root, from wherever it starts."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from falsezero.models.baselines.margins import solve_effects


def by_bisection(total, others, seen, ridge, centre):
    """One effect, by scipy's bracketing root finder."""

    def excess(effect):
        return (seen * expit(effect + others)).sum() + ridge * (effect - centre) - total

    reach = (total + seen.sum()) / ridge + 1
    return brentq(excess, centre - reach, centre + reach, xtol=1e-13, rtol=1e-13)


def test_effects_solve_their_equations():
    rng = np.random.default_rng(0)
    totals, others = np.array([0.0, 1.5, 4.0]), rng.normal(size=4)
    counts = rng.integers(0, 3, (3, 4)).astype(float)
    for seen in (None, counts):
        each = np.ones((3, 4)) if seen is None else seen
        roots = [by_bisection(t, others, s, 0.2, -0.7) for t, s in zip(totals, each, strict=True)]
        for start in (0.0, 1.0, -300.0, 300.0):
            found = solve_effects(totals, others, seen, 0.2, -0.7, np.full(3, start))
            np.testing.assert_allclose(found, roots, atol=1e-11)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("spread", [0.1, 20.0])
def test_far_starts_reach_the_root(ridge, spread):
    """Newton's step from the flat end of the curve leads to the other end, and back."""
    rng = np.random.default_rng(0)
    others, totals = rng.normal(0, spread, 12), np.array([0.0, 5.0, 7.3, 12.0])
    seen = np.ones(12)
    roots = np.array([by_bisection(total, others, seen, ridge, 1.0) for total in totals])
    for start in (0.0, -50.0, 50.0, 1e4, -1e8):
        found = solve_effects(totals, others, None, ridge, 1.0, np.full(4, start))
        np.testing.assert_allclose(found, roots, atol=1e-9, rtol=1e-9)


def test_an_effect_between_two_ends_that_newton_swings_between():
    """From 50 the step leads to -50, from -50 to 50, for ever."""
    others = np.zeros(10)
    assert solve_effects(np.array([5.0]), others, None, 0.1, 0.0, np.array([50.0]))[0] == (
        pytest.approx(0.0, abs=1e-11)
    )
    assert len(solve_effects(np.zeros(0), others, None, 0.1, 0.0, np.zeros(0))) == 0


def test_roots_at_the_ends_of_the_bracket_are_found():
    """Cells that are ones for certain, or zeros, however far the effect moves."""
    seen, start = np.full((1, 4), 3.0), np.zeros(1)
    low = solve_effects(np.zeros(1), np.full(4, 50.0), seen, 1.0, 0.5, start)
    assert low[0] == pytest.approx(0.5 - 12)
    high = solve_effects(np.array([7.0]), np.full(4, -50.0), seen, 1.0, 0.5, start)
    assert high[0] == pytest.approx(0.5 + 7)
    once = solve_effects(np.zeros(1), np.full(4, 50.0), None, 1.0, 0.5, start)
    assert once[0] == pytest.approx(0.5 - 4)
