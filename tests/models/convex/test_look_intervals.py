"""Intervals of repeated looks against their formulas, cell by cell."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.models.convex.look_intervals import averaged_over_rates


@pytest.fixture(name="fitted", scope="module")
def _fitted():
    made = fz.datasets.make_looks(60, 5, 3, 2, shape=(0.6, 0.6), random_state=0)
    return fz.RepeatedLooks(2, random_state=0).fit(made.looks), made.looks


def by_hand(model, looks, level, axis):
    """Number of occupied cells and its standard error, by loops."""
    ones, tries = looks.counts
    present = model.present(looks).to_numpy()
    n_rows, n_columns = present.shape
    size = n_columns if axis == 0 else n_rows
    variance, slopes = np.zeros(size), np.zeros((size, n_columns, 2))
    for n in range(n_rows):
        for t in range(n_columns):
            at = t if axis == 0 else n
            spread = present[n, t] * (1 - present[n, t])
            variance[at] += spread
            slopes[at, t] += spread * np.array([ones[n, t] - tries[n, t] * model.detection_[t], 1])
    for at in range(size):
        for t in range(n_columns):
            variance[at] += slopes[at, t] @ model.rate_covariance_[t] @ slopes[at, t]
    return present.sum(axis=axis), norm.ppf(0.5 + level / 2) * np.sqrt(variance)


@pytest.mark.parametrize(("by", "axis"), [("columns", 0), ("rows", 1)])
def test_occupied_cells_have_their_intervals(fitted, by, axis):
    model, looks = fitted
    table = model.intervals(looks, level=0.8, by=by)
    there, reach = by_hand(model, looks, 0.8, axis)
    seen = (looks.counts[0] > 0).sum(axis=axis)
    np.testing.assert_array_equal(table["seen"], seen)
    np.testing.assert_allclose(table["occupied"], there)
    np.testing.assert_allclose(table["occupied_low"], np.maximum(there - reach, seen))
    most = looks.counts[0].shape[axis]
    np.testing.assert_allclose(table["occupied_high"], np.minimum(there + reach, most))
    assert table.columns[0] == by[:-1]
    if by == "columns":
        d, error = model.detection_, np.sqrt(model.rate_covariance_[:, 0, 0])
        z = norm.ppf(0.9)
        np.testing.assert_allclose(table["detection"], d)
        np.testing.assert_allclose(table["detection_low"], expit(logit(d) - z * error))
        np.testing.assert_allclose(table["detection_high"], expit(logit(d) + z * error))
    else:
        assert "detection" not in table.columns


@pytest.mark.parametrize("false_alarms", [False, True])
def test_what_is_left_of_the_information(false_alarms, fitted):
    """Louis's formula, column by column, no eigenvalue below a tenth of the complete one."""
    model, looks = fitted
    if false_alarms:
        values = (np.random.default_rng(1).random((40, 2, 5)) < 0.3).astype(float)
        looks = fz.Looks(values)
        model = fz.RepeatedLooks(2, false_alarms=True, random_state=0).fit(looks)
    ones, tries = looks.counts
    blocks = model._blocks(looks, reset=False)
    local = model._settled(blocks)
    steps = model._steps(blocks)
    present = np.concatenate(
        [
            model._plain_present(steps, b, part, model.state_)[0]
            for b, part in zip(blocks, local, strict=True)
        ]
    )
    content = np.concatenate([model._content(part, model.state_) for part in local])
    d = model.detection_
    for t in range(looks.counts[0].shape[1]):
        width2 = model.state_.seen.width2[0]
        known = np.array([1 / width2, 0.25])
        known[0] += (present[:, t] * tries[:, t] * d[t] * (1 - d[t])).sum()
        known[1] += (content[:, t] * (1 - content[:, t])).sum()
        score = np.stack([ones[:, t] - tries[:, t] * d[t], np.ones(len(present))])
        lost = (present[:, t] * (1 - present[:, t]) * score) @ score.T
        scale = 1 / np.sqrt(known)
        values, vectors = np.linalg.eigh(np.eye(2) - lost * np.outer(scale, scale))
        inverse = vectors @ np.diag(1 / np.maximum(values, 0.1)) @ vectors.T
        np.testing.assert_allclose(
            model.rate_covariance_[t], inverse * np.outer(scale, scale), rtol=2e-3
        )


def test_a_level_lies_between_zero_and_one(fitted):
    model, looks = fitted
    for wrong in (0, 1, 1.5, -0.5):
        with pytest.raises(DataError, match="between 0 and 1"):
            model.intervals(looks, level=wrong)
    with pytest.raises(DataError, match="must be"):
        model.intervals(looks, by="cells")


def test_misses_in_a_row(fitted):
    model, looks = fitted
    known = fz.RepeatedLooks(2, detection=0.6, random_state=0).fit(looks)
    np.testing.assert_allclose(known.misses(2), [[1.0] * 5, [0.4] * 5, [0.16] * 5])
    missed = model.misses(3)
    assert missed.shape == (4, 5)
    np.testing.assert_allclose(missed[0], 1.0)
    assert (np.diff(missed, axis=0) < 0).all()


def test_uncertain_rates_pull_towards_a_half():
    present, variance = np.array([0.0, 0.2, 0.5, 1.0]), np.array([2.0, 2.0, 2.0, 2.0])
    inside = expit(logit(0.2) / np.sqrt(1 + np.pi * 2 / 8))
    np.testing.assert_allclose(averaged_over_rates(present, variance), [0, inside, 0.5, 1])


def test_with_false_alarms_what_was_seen_need_not_be_there():
    looks = fz.datasets.make_looks(30, 4, 3, 2, random_state=1).looks
    model = fz.RepeatedLooks(2, false_alarms=True, tol=1e-3, random_state=0).fit(looks)
    table = model.intervals(looks, level=0.999999)
    there, reach = by_hand(model, looks, 0.999999, 0)
    np.testing.assert_allclose(table["occupied_low"], np.maximum(there - reach, 0))
    assert (table["occupied_low"] < table["seen"]).any()


def test_known_detection_is_not_uncertain():
    looks = fz.datasets.make_looks(30, 4, 3, 2, random_state=1).looks
    model = fz.RepeatedLooks(2, detection=0.6, tol=1e-3, random_state=0).fit(looks)
    assert (model.rate_covariance_[:, 0, 0] < 1e-10).all()
    table = model.intervals(looks)
    np.testing.assert_allclose(table["detection_low"], 0.6, atol=1e-4)
    certain = fz.RepeatedLooks(2, detection=1.0, tol=1e-3, random_state=0).fit(looks)
    np.testing.assert_allclose(certain.intervals(looks)["detection_high"], 1.0, atol=1e-6)
