"""Formulas of the noisy-or model, worked out by loops."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logsumexp

from falsezero.data.blocks import Blocks
from falsezero.models.noisy_or import likelihood
from falsezero.models.noisy_or.likelihood import (
    _codes,
    _log_expm1,
    exact_log_likelihood,
    importance_log_likelihood,
)
from falsezero.models.noisy_or.steps import NoisyOrState

TABLE = np.array([[1.0, 0, 1], [0, 0, np.nan], [1, 1, 1], [0, np.nan, 0]])


@pytest.fixture(name="state")
def _state():
    rng = np.random.default_rng(0)
    theta, leak = rng.uniform(0.1, 1.5, (2, 3)), rng.uniform(0.05, 0.4, 3)
    return NoisyOrState(theta, leak, np.array([-0.5, 0.3]), 0)


def by_hand(state, row):
    """Eq. 1: the sum over all codes of prior times noisy-or."""
    terms = []
    for code in product([0, 1], repeat=len(state.odds)):
        prior = np.prod(np.where(code, expit(state.odds), 1 - expit(state.odds)))
        off = np.exp(-(np.array(code) @ state.theta + state.leak))
        seen = ~np.isnan(row)
        terms.append(prior * np.prod(np.where(row == 1, 1 - off, off)[seen]))
    return np.log(sum(terms))


def test_the_likelihood_of_a_row_by_hand(state):
    (block,) = Blocks.cut(sparse.csr_array(TABLE), block_rows=4)
    expected = [by_hand(state, row) for row in TABLE]
    np.testing.assert_allclose(exact_log_likelihood(block, state), expected, rtol=1e-10)
    posterior = np.full((4, 2), 0.4)
    found = importance_log_likelihood(block, state, posterior, 4000, np.random.default_rng(0))
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_importance_weights_draw_by_draw(state):
    """Joint over proposal of each drawn code, the proposal a tenth of the way to the prior."""
    (block,) = Blocks.cut(sparse.csr_array(TABLE), block_rows=4)
    posterior = np.random.default_rng(3).random((4, 2))
    found = importance_log_likelihood(block, state, posterior, 7, np.random.default_rng(5))
    rng, prior = np.random.default_rng(5), expit(state.odds)
    for row, own, estimate in zip(TABLE, posterior, found, strict=True):
        chance = 0.9 * own + 0.1 * prior
        weights = []
        for code in rng.random((7, 2)) < chance:
            off = np.exp(-(code @ state.theta + state.leak))
            joint = np.prod(np.where(row == 1, 1 - off, off)[~np.isnan(row)])
            ratio = np.where(code, prior / chance, (1 - prior) / (1 - chance)).prod()
            weights.append(joint * ratio)
        assert estimate == pytest.approx(np.log(np.mean(weights)), rel=1e-10)


@pytest.mark.parametrize("cells", [1, 9, 13])
def test_codes_are_summed_a_few_at_a_time(state, cells, monkeypatch):
    monkeypatch.setattr(likelihood, "_CELLS", cells)
    (block,) = Blocks.cut(sparse.csr_array(TABLE), block_rows=4)
    sizes = []

    def codes(n_sources, size):
        sizes.append(size)
        return _codes(n_sources, size)

    monkeypatch.setattr(likelihood, "_codes", codes)
    expected = [by_hand(state, row) for row in TABLE]
    np.testing.assert_allclose(exact_log_likelihood(block, state), expected, rtol=1e-10)
    assert sizes == [max(1, cells // 4)]


def test_an_estimate_from_few_draws_is_unbiased(state):
    (block,) = Blocks.cut(sparse.csr_array(TABLE[:2]), block_rows=2)
    rng = np.random.default_rng(1)
    posterior = np.array([[0.9, 0.1], [0.2, 0.7]])
    logs = np.array(
        [importance_log_likelihood(block, state, posterior, 2, rng) for _ in range(4000)]
    )
    ratio = np.exp(logs - [by_hand(state, row) for row in TABLE[:2]])
    error = ratio.std(axis=0) / np.sqrt(len(ratio))
    assert (np.abs(ratio.mean(axis=0) - 1) < 4 * error).all()
    assert (error < 0.03).all()


def test_codes_are_all_there_however_they_are_cut():
    for size in (1, 3, 8, 100):
        codes = np.concatenate(list(_codes(3, size)))
        assert sorted(map(tuple, codes.astype(int))) == sorted(product([0, 1], repeat=3))
    np.testing.assert_allclose(_log_expm1(np.array([0.5, 800.0])), [np.log(np.expm1(0.5)), 800.0])
    assert logsumexp([_log_expm1(np.array([1e-20]))]) == pytest.approx(np.log(1e-20))
