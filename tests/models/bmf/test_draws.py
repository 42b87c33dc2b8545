"""What draws of binary matrix factorization say, whether they agree, and where they begin."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from tests.models.bmf.test_scores import drawn

from falsezero import BinaryMatrixFactorization
from falsezero.models.bmf import answers, predict, start
from falsezero.models.bmf.agreement import _quantile, feature_agreement, prediction_agreement
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.predict import (
    _best_pattern,
    _by_size,
    aligned_share,
    new_row_features,
    ordered_draw,
    picture_order,
    representative,
    row_chunks,
)
from falsezero.models.bmf.redundant import _level, _taken_away
from falsezero.models.bmf.state import Cells, Features, State

GAUSSIAN, LOGISTIC = LIKELIHOODS["gaussian"], LIKELIHOODS["logistic"]


def test_features_of_a_new_row_by_plain_gibbs():
    """The same uniforms in plain loops, from the likeliest pattern of the training rows."""
    draw = drawn(k=3, n=10, m=5)
    rows = np.array([[1.0, 0, 1, 1, 0], [0, 0, np.nan, 1, 1]])
    cells, prior = Cells.of(rows), np.array([1.0, 0.3, 0.6])
    probability, last = new_row_features(draw, cells, LOGISTIC, prior)
    uniforms = np.random.default_rng(0).random((24, 3))

    def log_p(n, on):
        return LOGISTIC.log_likelihood(Cells.of(rows[[n]]), (on @ draw.basis)[None], 1.0).sum()

    for n in range(2):
        patterns = np.unique(draw.row_features, axis=0).astype(float)
        on = max(patterns, key=lambda pattern: log_p(n, pattern)).copy()
        shares = np.zeros(3)
        for scan in range(24):
            for k in (1, 2):
                on[k] = 1
                with_it = log_p(n, on) + np.log(prior[k])
                on[k] = 0
                share = expit(with_it - log_p(n, on) - np.log(1 - prior[k]))
                on[k] = uniforms[scan, k] < share
                if scan >= 8:
                    shares[k] += share / 16
        np.testing.assert_allclose(probability[n], [1, *shares[1:]])
        np.testing.assert_array_equal(last[n], on)


def test_the_commonest_patterns_are_candidates(monkeypatch):
    draw = drawn()._replace(
        row_features=np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 0, 1]], dtype=np.uint8),
        weights=np.array([[0.0, 0.0], [9.0, 9.0], [-9.0, -9.0]]),
        column_features=np.ones((5, 2), dtype=np.uint8),
    )
    zeros = Cells.of(np.zeros((1, 5)))
    assert _best_pattern(draw, zeros, LOGISTIC)[0].tolist() == [1, 0, 1]
    monkeypatch.setattr(predict, "_PATTERNS", 1)
    assert _best_pattern(draw, zeros, LOGISTIC)[0].tolist() == [1, 1, 0]


def test_rows_are_cut_so_that_all_draws_fit():
    assert list(row_chunks(5, 10, 2, cells=40)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert list(row_chunks(3, 10, 2, cells=5)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert list(row_chunks(3, 0, 0)) == [slice(0, 3)]
    assert list(row_chunks(2_000_001, 1, 2)) == [slice(0, 2_000_000), slice(2_000_000, 2_000_001)]


def test_the_draw_nearest_the_mean_is_representative():
    draws = [drawn(seed=0)._replace(weights=w * np.ones((3, 2))) for w in (0.0, 0.9, 2.0)]
    assert representative(draws, GAUSSIAN) == 1
    assert representative(draws[1:] + draws[1:2], GAUSSIAN) == 0


def test_the_representative_draw_is_found_with_few_tables_in_memory():
    draws = [drawn(n=400, m=300, seed=seed) for seed in range(30)]
    tracemalloc.start()
    representative(draws, LOGISTIC)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 400 * 300 * 8, "eight tables at most, not one for every draw"


def test_features_are_ordered_by_size_behind_fixed_ones():
    on = np.array([[0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.uint8)
    assert _by_size(on, 1).tolist() == [0, 3, 1, 2]
    assert _by_size(on, 0).tolist() == [3, 1, 2, 0]
    draw = drawn()._replace(
        row_features=on, column_features=on[:, [0, 2, 3]], weights=np.arange(12.0).reshape(4, 3)
    )
    found = ordered_draw(draw, 1, 1)
    np.testing.assert_array_equal(found.row_features, on[:, [0, 3, 1, 2]])
    np.testing.assert_array_equal(found.column_features, on[:, [0, 3, 2]])
    np.testing.assert_array_equal(found.weights, [[0, 2, 1], [9, 11, 10], [3, 5, 4], [6, 8, 7]])
    np.testing.assert_allclose(found.predictor(), draw.predictor())


def test_shares_match_features_by_overlap():
    reference = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    swapped = np.array([[0, 1], [0, 1], [1, 0], [0, 0]])
    share = aligned_share([reference, swapped], reference)
    np.testing.assert_allclose(share, [[1, 0], [1, 0], [0, 1], [0, 0.5]])
    # By their share of the union, a feature of nearly all rows is not the best match of every one.
    wide = np.array([[1, 1], [1, 0], [1, 1], [1, 0]])
    narrow = np.array([[1, 0], [0, 0], [1, 0], [0, 0]])
    np.testing.assert_allclose(aligned_share([wide], narrow)[:, 0], wide[:, 1])


def test_things_with_equal_features_lie_together():
    on = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]])
    # The second feature is had by most and comes first; those that have it come first.
    assert picture_order(on).tolist() == [1, 3, 4, 0, 2]
    assert picture_order(np.zeros((3, 0))).tolist() == [0, 1, 2]


def test_draws_of_new_rows_are_evenly_spread():
    model = BinaryMatrixFactorization()
    model.draws_ = list(range(23))
    assert model._some_draws() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22]
    model.draws_ = list(range(3))
    assert model._some_draws() == [0, 1, 2]
    assert answers._NEW_ROW_DRAWS == 12


def test_sampled_rows_may_have_features_of_their_own():
    rng = np.random.default_rng(0)
    draw = drawn(k=2, n=9, m=3)._replace(
        weights=np.zeros((2, 2)), column_features=np.array([[1, 0], [0, 1], [0, 0]], np.uint8),
        row_concentration=5.0, weight_scale=0.25, precision=1e12,
    )  # fmt: skip
    model = BinaryMatrixFactorization(likelihood="gaussian")
    model.draws_, model.offset_, model.scale_ = [draw], 3.0, 2.0
    model.row_features_, model.components_ = draw.row_features, draw.basis
    rows = np.array([model._sampled_row(draw, rng) for _ in range(4000)])
    # 5 / (9 + 1) new features a row on average, each with weights of variance 1 / 0.25.
    np.testing.assert_allclose((rows**2).mean(axis=0), [2.0, 2.0, 0.0], rtol=0.1, atol=1e-9)
    model.beta = 31.0  # 5 / (9 + 31) of them
    rows = np.array([model._sampled_row(draw, rng) for _ in range(4000)])
    np.testing.assert_allclose((rows**2).mean(axis=0), [0.5, 0.5, 0.0], rtol=0.15, atol=1e-9)
    model.n_row_features = 2
    assert np.abs(model._sampled_row(draw, rng)).max() < 1e-4
    np.testing.assert_allclose(model.sample(2, random_state=0), 3.0, atol=1e-4)


# -- agreement ------------------------------------------------------------------------------------


def test_quantiles_are_order_statistics():
    assert _quantile([3.0, 1.0, 2.0], 0.95) == 3
    assert _quantile([3.0, 1.0, 2.0], 0.05) == 1
    assert _quantile([float(i) for i in range(100)], 0.95) == 95
    assert _quantile([1.0, np.inf], 1.0) == np.inf


def test_agreement_needs_twenty_draws_and_something_that_moves():
    draws = [drawn(seed=i) for i in range(20)]
    found = prediction_agreement([draws, draws[::-1]], LOGISTIC, n_cells=10)
    assert np.isfinite(found).all()
    assert np.isnan(prediction_agreement([draws, draws[1:]], LOGISTIC)).all()
    assert np.isnan(prediction_agreement([draws[:1] * 20], LOGISTIC)).all()
    names = ("log_joint", "log_likelihood", "features_per_row", "features_per_column")
    rng = np.random.default_rng(0)
    chains = [{name: rng.normal(size=20) for name in names} for _ in range(2)]
    assert 0.9 < feature_agreement(chains) < 1.5
    chains[0]["features_per_row"] += 9
    assert feature_agreement(chains) > 2
    still = [{name: np.ones(20) for name in names}] * 2
    assert np.isnan(feature_agreement(still))
    short = [{name: chain[name][:19] for name in names} for chain in chains]
    assert np.isnan(feature_agreement(short))


# -- where chains begin ---------------------------------------------------------------------------


def test_ranks_are_bounded_by_the_table():
    rng = np.random.default_rng(0)
    strong = np.outer(rng.choice([-1.0, 1], 40), rng.choice([-1.0, 1], 9))
    assert start._rank(strong + 0.1 * rng.normal(size=(40, 9)), rng) == 1
    assert start._rank(np.ones((2, 9)), rng) == 0
    many = rng.normal(size=(30, 30))
    assert start._rank(many, rng) == 0
    # Without any noise, half the smaller side, and twelve at most.
    flat = SimpleNamespace(permuted=lambda table, axis: 0 * table)
    for shape, most in (((8, 20), 3), ((20, 9), 4), ((60, 60), 12), ((3, 3), 1)):
        assert start._rank(rng.normal(size=shape), flat) == most


def test_found_features_begin_beside_known_ones():
    prior = Features(np.array([[1, 1], [1, 0], [1, 1]], dtype=np.uint8), 1, 0, 0.8)
    found = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=np.uint8)
    on = start.begun_with(prior, found.copy(), None).on
    np.testing.assert_array_equal(on, [[1, 1, 0], [1, 0, 1], [1, 0, 1]])
    # Where a feature can only add, it is on where rows are larger.
    sizes = np.array([1.0, 5.0, 6.0])
    on = start.begun_with(prior, found[:, [0, 2]].copy(), sizes).on
    np.testing.assert_array_equal(on, [[1, 0, 0], [1, 1, 1], [1, 1, 1]])
    finite = start.begun_with(prior._replace(finite=4), found.copy(), None).on
    np.testing.assert_array_equal(finite, np.hstack([[[1]] * 3, found, [[0]] * 3]))
    few = start.begun_with(prior._replace(finite=2), found.copy(), None).on
    np.testing.assert_array_equal(few, np.hstack([[[1]] * 3, found[:, :2]]))


def test_a_level_is_the_mean_of_ten_settling_sweeps():
    state = SimpleNamespace(log_joint=0.0)
    steps = iter(range(100))

    def settle(state):
        return SimpleNamespace(log_joint=float(next(steps)))

    level, last = _level(state, settle)
    number = int(last.log_joint) + 1
    assert level == pytest.approx((number - 1) / 2)


def test_a_feature_taken_away_leaves_its_weights_to_the_rest():
    on = np.array([[1, 0], [1, 1], [1, 0], [1, 1]], dtype=np.uint8)
    state = State(
        Features(on, 1, 0, 1.0), Features(on, 1, 0, 1.0), np.array([[2.0, 3], [4, 1]]), 1, 1
    )
    less = _taken_away(state, 1)
    # Without the feature every row gets the mean: half of the rows had its weights.
    np.testing.assert_allclose(less.weights, [[2 + 4 / 2, 3 + 1 / 2]])
    np.testing.assert_array_equal(less.rows.on, on[:, :1])
    finite = _taken_away(state._replace(rows=state.rows._replace(finite=1)), 1)
    np.testing.assert_array_equal(finite.rows.on[:, 1], 0)
    np.testing.assert_allclose(finite.weights, [[4, 3.5], [4, 1]])
