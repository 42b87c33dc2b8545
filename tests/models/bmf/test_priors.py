"""Draws of features from their prior, and where a chain's table is standardised."""

import numpy as np
import pytest

from falsezero.models.bmf.start import _halves, _standardised
from falsezero.models.bmf.state import Cells, draw_features

NOTHING = np.ones((5, 0), np.uint8)


@pytest.mark.parametrize("beta", [0.4, 1.0, 3.0])
def test_a_buffet_has_its_numbers_of_dishes(beta):
    """Features ~ Poisson(alpha sum_i 1 / (beta + i - 1)); each row has Poisson(alpha / beta)."""
    rng = np.random.default_rng(0)
    features = [draw_features(NOTHING, 0, 1.4, rng, beta) for _ in range(3000)]
    drawn = [each.on for each in features]
    numbers = np.array([on.shape[1] for on in drawn])
    expected = 1.4 * sum(1 / (beta + i) for i in range(5))
    assert features[0].buffet_rate * 1.4 == pytest.approx(expected)
    assert numbers.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 3000))
    assert numbers.var() == pytest.approx(expected, rel=0.12)
    per_row = np.mean([on.sum(axis=1) for on in drawn], axis=0)
    np.testing.assert_allclose(per_row, 1.4 / beta, atol=4 * np.sqrt(1.4 / beta / 3000))


def test_a_finite_prior_has_its_share_of_ones():
    rng = np.random.default_rng(0)
    on = np.array([draw_features(NOTHING, 3, 1.5, rng).on for _ in range(3000)])
    # Beta(alpha / K, beta) has the mean alpha / (alpha + beta K).
    assert on.mean() == pytest.approx(1.5 / 4.5, abs=0.02)
    on = np.array([draw_features(NOTHING, 3, 1.5, rng, 2.5).on for _ in range(3000)])
    assert on.mean() == pytest.approx(1.5 / 9, abs=0.015)
    known = np.ones((5, 2), np.uint8)
    assert draw_features(known, 3, 1.5, rng).on.shape == (5, 5)


def test_columns_are_standardised_over_what_was_observed():
    table = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, np.nan], [5.0, 5.0, 4.0], [np.nan, 5.0, 9.0]])
    found = _standardised(Cells.of(table))
    for column in (0, 2):
        seen = ~np.isnan(table[:, column])
        values = table[seen, column]
        np.testing.assert_allclose(found[seen, column], (values - values.mean()) / values.std())
        assert (found[~seen, column] == 0).all()
    assert (found[:, 1] == 0).all(), "a constant column says nothing"


def test_values_on_a_line_fall_into_two_clusters():
    values = np.array([0.0, 0.1, 0.2, 5.0, 5.1])
    assert _halves(values).tolist() == [False, False, False, True, True]
    assert _halves(-values).tolist() == [False, False, False, True, True], "the smaller is on"
