"""Surprising zeros and ones beside a plain search through all cells."""

from __future__ import annotations

import numpy as np
import pytest

import falsezero as fz

RNG = np.random.default_rng(0)
CLEAN = fz.datasets.make_aspect_bernoulli(
    80, 15, 2, concentration=0.1, shape=(0.2, 0.3), random_state=0
).table.to_numpy()
VALUES = np.where(
    RNG.random(CLEAN.shape) < 0.05, np.nan, fz.corrupt(CLEAN, omit=0.4, random_state=0)
)


@pytest.fixture(scope="module")
def model() -> fz.AspectBernoulli:
    return fz.AspectBernoulli(3, prior=0, n_init=3, random_state=0).fit(VALUES)


@pytest.mark.parametrize("keep", [None, [1, 1, 1], [0, 1, 1]])
def test_zeros_are_those_that_a_plain_search_finds(model: fz.AspectBernoulli, keep) -> None:
    asked = fz.find_phantoms(model).keep if keep is None else np.array(keep, dtype=float)
    expected = np.asarray(model.reconstruct(VALUES, keep=asked))
    hits = np.argwhere((VALUES == 0) & (expected >= 0.5))
    found = fz.surprising_zeros(model, VALUES, keep=keep)
    assert {*zip(found["row"].tolist(), found["column"].tolist(), strict=True)} == {
        (int(r), int(c)) for r, c in hits
    }
    assert len(hits) > 5
    cells = found["row"].astype(int), found["column"].astype(int)
    np.testing.assert_allclose(found["expected"], expected[cells])
    assert (np.diff(found["expected"]) <= 1e-12).all()
    assert ("noise" in found.columns) == (asked < 1).any()
    assert fz.surprising_zeros(model, VALUES, keep=keep, n=4)["row"].tolist() == (
        found["row"][:4].tolist()
    )


def test_ones_are_rarely_expected_compared_with_their_column(model: fz.AspectBernoulli) -> None:
    expected = np.asarray(model.reconstruct(VALUES, keep=[1, 1, 1]))
    rates = np.nanmean(VALUES, axis=0)
    hits = (VALUES == 1) & (expected <= 0.1 * rates)
    found = fz.surprising_ones(model, VALUES, keep=[1, 1, 1])
    assert len(found) == hits.sum()
    assert (np.diff(found["expected"] / found["rate"]) >= -1e-12).all()
