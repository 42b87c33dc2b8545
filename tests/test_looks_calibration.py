"""Simulation-based calibration of repeated looks: its shares, and a quick run."""

import numpy as np
import pytest
from benchmarks import looks_calibration


def test_shares_of_ranks():
    """A value below all draws, one in their middle, and one above 70 of 100."""
    draws = np.repeat(np.arange(100.0)[:, None], 3, axis=1)
    true = np.array([-1.0, 49.5, 69.5])
    found = looks_calibration._shares(true, draws, np.random.default_rng(0))
    np.testing.assert_allclose(found[:2], [2 / 3, 2 / 3])
    np.testing.assert_allclose(found[2:], np.array([1, 0, 1, 1, 0]) / 3)


@pytest.mark.parametrize("name", ["cells differ", "false alarms"])
def test_a_quick_run_gives_shares_of_every_kind(name):
    found = looks_calibration.measure(name, n_tables=2, n_draws=20)
    assert set(found) == {"detection", "present in a column", "present in a row"}
    for means, errors in found.values():
        assert means[:2].min() > 0.1
        assert means[0] <= means[1]
        assert means[2:].sum() == pytest.approx(1)
        assert (errors >= 0).all()
