"""Collapsed sampling over files, sweep by sweep, against counts by hand."""

import numpy as np
import pytest
from tests.models.discrete_pca.common import ALPHA, BETA, COUNTS, ETA, blocks_of, family_of, tiny
from tests.reference import discrete_pca as reference

from falsezero.inference.contract import Point
from falsezero.models.discrete_pca import distributed
from falsezero.models.discrete_pca.distributed import DistributedSteps, FileSums, MergedPosterior
from falsezero.models.discrete_pca.family import Hyper

NAMES = ["dirichlet", "dirichlet in groups", "gamma-poisson"]
TABLE = np.concatenate([COUNTS, COUNTS[::-1] + 1])


def steps_of(name, blocks, warmup=2, thin=2, learn=(False, False)):
    return DistributedSteps(family_of(name), blocks, Hyper(ALPHA, BETA), ETA, warmup, thin, learn)


def counted(steps, blocks, parts):
    """Tokens by row and component, and by word and component."""
    c, n = [], np.zeros((4, 2))
    for block, part in zip(blocks, parts, strict=True):
        tokens = steps.tokens_of(block)
        own = np.zeros((block.shape[0], 2))
        np.add.at(own, (tokens.docs, part.z), 1)
        np.add.at(n, (tokens.words, part.z), 1)
        c.append(own)
    return np.concatenate(c), n


def weights_of(name, c):
    if name == "gamma-poisson":
        return (ALPHA + c) / (BETA + 1)
    return (ALPHA + c) / (ALPHA + c).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_every_sweep_are_those_of_its_tokens(name):
    blocks, model = blocks_of(TABLE, 2), tiny(name)
    steps, rng = steps_of(name, blocks), np.random.default_rng(0)
    state, parts = steps.init(blocks, rng)
    assert len(parts) == 2
    assert all(tuple(column) in set(map(tuple, TABLE)) for column in state.words.T)
    assert (state.sweep, state.constant) == (0, 0.0)
    kept, posterior = 0.0, MergedPosterior(steps, blocks)
    for sweep in range(6):
        pairs = [
            steps.local_step(b, part, state, rng) for b, part in zip(blocks, parts, strict=True)
        ]
        parts = [part for part, _ in pairs]
        sums = FileSums(*(sum(each) for each in zip(*(sums for _, sums in pairs), strict=True)))
        c, n = counted(steps, blocks, parts)
        np.testing.assert_array_equal(sums.words, n)
        np.testing.assert_array_equal(c.sum(axis=1), TABLE.sum(axis=1))
        expected = reference.log_theta(model, n) + reference.log_constant(model, TABLE)
        bags = 0 if model.kind == "gamma" else 1
        expected += sum(reference.log_row(model, row, bags) for row in c)
        assert steps.objective(sums, state) == pytest.approx(expected, rel=1e-6)
        state = steps.global_step(sums, state, None)
        assert state.sweep == sweep + 1
        np.testing.assert_allclose(state.totals, steps.family.group_sums(n))
        weights = weights_of(name, c)
        share = weights / weights.sum(axis=1, keepdims=True)
        assert state.concentration == pytest.approx((share**2).sum() / 4)
        np.testing.assert_allclose(state.share, share.mean(axis=0))
        if sweep in (3, 5):
            kept = kept + weights
            posterior.add(Point(state, parts))
            np.testing.assert_allclose(np.concatenate([part.weights for part in parts]), kept)
    assert posterior.n_draws == 2
    np.testing.assert_allclose(posterior.row_weights, kept / 2, rtol=1e-6)


def test_a_chain_stopped_in_its_warm_up_has_the_weights_of_where_it_was():
    blocks = blocks_of(TABLE, 2)
    steps, rng = steps_of("dirichlet", blocks, warmup=9), np.random.default_rng(0)
    state, parts = steps.init(blocks, rng)
    parts = [steps.local_step(b, p, state, rng)[0] for b, p in zip(blocks, parts, strict=True)]
    posterior = MergedPosterior(steps, blocks)
    posterior.add(Point(state, parts))
    c, _ = counted(steps, blocks, parts)
    np.testing.assert_allclose(posterior.row_weights, weights_of("dirichlet", c), rtol=1e-6)


def test_rates_follow_the_merged_counts_in_the_warm_up():
    blocks = blocks_of(TABLE, 2)
    steps = steps_of("gamma-poisson", blocks, warmup=29, learn=(False, True))
    state, _ = steps.init(blocks, np.random.default_rng(0))
    words = np.array([[3, 1], [0, 4], [2, 2], [1, 5]], dtype=np.int32)
    sums = FileSums(words, 0.0, -2.5, 3.0, np.array([2.0, 2.0]))
    learnt = []
    for sweep in range(35):
        after = steps.global_step(sums, state._replace(sweep=sweep, constant=-1.0), None)
        assert after.constant == -3.5
        if after.hyper is not state.hyper:
            learnt.append(sweep)
            np.testing.assert_allclose(after.hyper.beta, ALPHA / (words.sum(axis=0) / 4))
            np.testing.assert_array_equal(after.hyper.alpha, ALPHA)
    assert learnt == [9, 19]
    still = steps_of("gamma-poisson", blocks, warmup=29)
    assert still.global_step(sums, state._replace(sweep=9), None).hyper is state.hyper
    with pytest.raises(ValueError, match="learn_alpha=True needs the whole table"):
        steps_of("dirichlet", blocks, learn=(True, False))


def test_tokens_are_dealt_to_components_like_their_words():
    blocks = blocks_of(np.full((1, 4), 3000.0))
    steps = steps_of("dirichlet", blocks)
    state, [part] = steps.init(blocks, np.random.default_rng(0))
    seeds = np.array([[5.0, 0, 1, 2], [1, 30, 3, 0]])
    state = state._replace(words=seeds.T.astype(np.float32))
    _, sums = steps.local_step(blocks[0], part, state, np.random.default_rng(0))
    share = (seeds + ETA) / (seeds.sum(axis=1, keepdims=True) + 4 * ETA)
    share = (share / share.sum(axis=0)).T
    error = np.sqrt(share * (1 - share) / 3000)
    assert (np.abs(sums.words / 3000 - share) < 4.5 * error).all()


def test_components_take_two_bytes_as_long_as_they_fit():
    assert distributed._dtype_of(2**16) == np.uint16
    assert distributed._dtype_of(2**16 + 1) == np.int32
    [block] = blocks_of(TABLE)
    steps = steps_of("dirichlet", blocks_of(TABLE))
    assert steps.tokens_of(block) is steps.tokens_of(block)
