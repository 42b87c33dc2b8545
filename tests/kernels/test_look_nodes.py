"""Sums over the nodes of the cell effect against formulas written out in numpy."""

import numpy as np
import pytest
from scipy.special import expit

from falsezero.kernels.look_nodes import drawn_sums, expected_sums, node_evidence

NODES = np.array([-1.5, 0.0, 0.4, 2.0])
WEIGHTS = np.array([0.2, 0.5, 0.2, 0.1])


def some_looks(most, seed=0):
    rng = np.random.default_rng(seed)
    tries = rng.integers(0, most + 1, (5, 2, 3)).astype(float)
    ones = np.floor(tries * rng.random(tries.shape) * 1.2).clip(0, tries)
    return rng.normal(size=tries.shape), ones, tries


def in_numpy(base, variance, ones, tries):
    """Log evidence of every node, patterns x columns x nodes."""
    eta = base[..., None] + 0.8 * NODES
    xi = np.sqrt(eta**2 + variance[..., None])
    looks = (ones - 0.5 * tries)[..., None] * eta
    looks -= tries[..., None] * np.log(2 * np.cosh(xi / 2))
    return looks.sum(axis=1) + np.log(WEIGHTS)


@pytest.mark.parametrize("most", [3, 40], ids=["by products", "by logarithms"])
@pytest.mark.parametrize("variance", [0.0, 0.6])
def test_evidence_of_nodes(most, variance):
    base, ones, tries = some_looks(most)
    spread = np.full_like(base, variance)
    found, log_total = node_evidence(base, spread, 0.8 * NODES, WEIGHTS, ones, tries)
    logs = in_numpy(base, spread, ones, tries)
    np.testing.assert_allclose(log_total, np.log(np.exp(logs).sum(axis=2)))
    np.testing.assert_allclose(found, np.exp(logs - log_total[..., None]))


def test_evidence_of_certain_effects_is_the_likelihood():
    base, ones, tries = some_looks(3)
    _, log_total = node_evidence(base, 0 * base, np.zeros(1), np.ones(1), ones, tries)
    rate = expit(base)
    expected = (ones * np.log(rate) + (tries - ones) * np.log(1 - rate)).sum(axis=1)
    np.testing.assert_allclose(log_total, expected)


@pytest.mark.parametrize("eta", [-900.0, -300.0, 300.0, 900.0])
def test_rates_next_to_nought_and_one_neither_vanish_nor_overflow(eta):
    base, ones, tries = np.full((1, 1, 2), eta), np.array([[[2.0, 0.0]]]), np.full((1, 1, 2), 2.0)
    found, log_total = node_evidence(base, 0 * base, np.zeros(1), np.ones(1), ones, tries)
    np.testing.assert_allclose(log_total[0], [2 * min(eta, 0), 2 * min(-eta, 0)], atol=1e-12)
    np.testing.assert_array_equal(found, 1)


def test_one_pattern_for_all_columns():
    base, ones, tries = some_looks(3)
    alone = ones[:, :, :1], tries[:, :, :1]
    wide = [np.repeat(part, 3, axis=2) for part in alone]
    for a, b in zip(
        node_evidence(base, 0 * base, NODES, WEIGHTS, *alone),
        node_evidence(base, 0 * base, NODES, WEIGHTS, *wide),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_expected_curvatures():
    base, ones, tries = some_looks(3)
    base[0, 0], tries[0, 0] = 0.0, 2.0
    variance, present = np.full_like(base, 0.3), np.random.default_rng(1).uniform(0, 3, (5, 3))
    variance[0, 0] = 0.0
    posterior, _ = node_evidence(base, variance, 0.8 * NODES, WEIGHTS, ones, tries)
    found = expected_sums(base, variance, 0.8 * NODES, NODES, posterior, present, tries)
    share = present[..., None] * posterior
    xi = np.sqrt((base[..., None] + 0.8 * NODES) ** 2 + variance[..., None])
    assert (xi == 0).any(), "the curvature at zero is a quarter"
    slope = np.where(xi > 0, np.tanh(xi / 2) / np.where(xi > 0, 2 * xi, 1), 0.25)
    slope = slope * tries[..., None] * share[:, None]
    np.testing.assert_allclose(found.curve, slope.sum(axis=3))
    np.testing.assert_allclose(found.curve_u, slope @ NODES)
    assert found.curve_uu == pytest.approx((slope @ NODES**2).sum())
    np.testing.assert_allclose(found.share_u, share @ NODES)


def test_drawn_sums_average_to_the_expected_ones():
    base, ones, tries = some_looks(3)
    present = np.random.default_rng(1).integers(0, 4, (5, 3)).astype(float)
    posterior, _ = node_evidence(base, 0 * base, 0.8 * NODES, WEIGHTS, ones, tries)
    shared = 0.8 * NODES, NODES, posterior, present, tries
    expected = expected_sums(base, 0 * base, *shared)
    rng, n_draws = np.random.default_rng(2), 3000
    drawn = [drawn_sums(base, *shared, rng) for _ in range(n_draws)]
    for name in expected._fields:
        values = np.array([getattr(draw, name) for draw in drawn])
        error = values.std(axis=0) / np.sqrt(n_draws)
        off = np.abs(values.mean(axis=0) - getattr(expected, name))
        assert (off <= 4.5 * error + 1e-12).all(), name
