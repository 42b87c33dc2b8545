"""The features that chains begin with, worked out step by step with the same random numbers."""

import numpy as np
import pytest
from scipy.linalg import polar
from tests.models.bmf.test_start import balanced

from falsezero.models.bmf.start import _binary, _halves, _independent, begun_with, found_features
from falsezero.models.bmf.state import Cells, Features


def slow_halves(values):
    """Two clusters on a line by turns of means and halves; the smaller one is on."""
    cut = np.median(values)
    for _ in range(50):
        high, low = [v for v in values if v > cut], [v for v in values if v <= cut]
        if not high or not low:
            break
        cut = (sum(high) / len(high) + sum(low) / len(low)) / 2
    on = np.array([v > cut for v in values])
    return ~on if on.sum() > len(on) / 2 else on


def slow_rotation(white, rng):
    """FastICA with cubes, all two hundred turns of it."""
    k = white.shape[1]
    rotation = polar(rng.standard_normal((k, k)))[0]
    for _ in range(200):
        new = np.zeros((k, k))
        for x in white:
            new += np.outer(x, (x @ rotation) ** 3) / len(white)
        rotation = polar(new - 3 * rotation)[0]
    return rotation


def slow_binary(scores, rng):
    centred = scores - scores.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    white = np.sqrt(len(scores)) * left[:, sizes > 1e-6 * sizes[0]]
    parts = white @ slow_rotation(white, rng)
    return np.column_stack([slow_halves(part) for part in parts.T])


def slow_features(table, rng):
    columns = []
    for column in table.T:
        seen = column[~np.isnan(column)]
        columns.append(np.nan_to_num((column - seen.mean()) / seen.std()))
    known = np.column_stack(columns)
    noise = max(np.linalg.svd(rng.permuted(known, axis=0))[1][0] for _ in range(2))
    sizes = np.linalg.svd(known)[1]
    rank = min((sizes > noise).sum(), 12, (min(table.shape) - 1) // 2)
    emphasis = np.diag(np.sqrt(rng.standard_exponential(len(table))))
    axes = np.linalg.svd(emphasis @ known, full_matrices=False)[2][:rank]
    scores = known @ axes.T
    loadings = np.column_stack(
        [axis * np.sqrt((score**2).sum()) for axis, score in zip(axes, scores.T, strict=True)]
    )
    return slow_binary(scores, rng), slow_binary(loadings, rng)


@pytest.mark.parametrize("seed", range(3))
def test_features_are_found_as_their_slow_twin_finds_them(seed):
    _, shown, _ = balanced(seed, n=60, m=24, k=3)
    found = found_features(Cells.of(shown), np.random.default_rng(seed))
    expected = slow_features(shown, np.random.default_rng(seed))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.uint8
        np.testing.assert_array_equal(ours, theirs)


def test_the_rotation_is_that_of_fast_ica():
    rng = np.random.default_rng(0)
    sources = rng.choice([-1.0, 1.0], (200, 3))
    mixed = sources @ rng.normal(size=(3, 3))
    left = np.linalg.svd(mixed - mixed.mean(axis=0), full_matrices=False)[0] * np.sqrt(200)
    found = _independent(left, np.random.default_rng(1))
    expected = slow_rotation(left, np.random.default_rng(1))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)
    on = _binary(mixed, np.random.default_rng(1))
    for source in sources.T:
        agree = [(part == (source > 0)).mean() for part in on.T]
        assert max(max(agree), 1 - min(agree)) == 1
    # A score that does not vary is left out.
    still = np.hstack([mixed, np.full((200, 1), 3.0)])
    assert _binary(still, np.random.default_rng(1)).shape == (200, 3)


def test_clusters_on_a_line():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.concatenate([rng.normal(0, 1, 12), rng.normal(3, 1, 7)])
        np.testing.assert_array_equal(_halves(values), slow_halves(values))
    assert not _halves(np.ones(5)).any(), "all values alike: nothing is on"
    assert _halves(np.array([0.0, 1.0])).tolist() == [False, True]
    assert _halves(np.array([0.0, 0.0, 1.0, 1.0])).tolist() == [False, False, True, True]


def test_features_that_fit_no_row_better_are_left_as_they_are():
    """Of rows of equal size none is larger, so nothing is turned round."""
    prior = Features(np.ones((4, 1), np.uint8), 1, 0, 0.8)
    found = np.array([[1], [0], [1], [0]], np.uint8)
    sizes = np.array([2.0, 2.0, 3.0, 3.0])
    on = begun_with(prior, found.copy(), sizes).on
    np.testing.assert_array_equal(on[:, 1:], found)
