"""The likelihood from the series against the sum over every cell."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import series as reference

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.models.convex import series
from falsezero.models.convex.family import RowWeights
from falsezero.models.convex.series import series_log_likelihood
from falsezero.models.convex.variational_sparse import exact_bound


def case(seed, k=4, missing=0.05, level=0.1):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(k, 0.3), 120)
    components = rng.beta(level, 2.0, (k, 90)).clip(1e-9, 0.999)
    x = (rng.random((120, 90)) < weights @ components).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x, weights, components


def by_cell(x, weights, components):
    p = weights @ components
    return np.where(np.isnan(x), 0.0, np.where(x == 1, np.log(p), np.log1p(-p))).sum()


def by_series(x, weights, components):
    blocks = Blocks.cut(sparse.csr_array(x), block_rows=50)
    parts = [RowWeights(weights[block.rows]) for block in blocks]
    return series_log_likelihood(blocks, parts, components, components, map_blocks)


@pytest.mark.parametrize("products", [60_000, 60, 10])
@pytest.mark.parametrize("hot", [0.5, 0.15, 0.03])
def test_every_cell_agrees_within_the_error(products, hot, monkeypatch):
    """Fourth, third and second order; the bound is needed, and small."""
    monkeypatch.setattr(series, "_GRAM_PRODUCTS", products)
    monkeypatch.setattr(series, "_HOT", hot)
    monkeypatch.setattr(series, "_MOST_VISITS", 0.0)
    for seed in range(8):
        x, weights, components = case(seed)
        found, exact = by_series(x, weights, components), by_cell(x, weights, components)
        assert abs(found.value - exact) <= found.error
        assert found.error < {60_000: 0.002, 60: 0.006, 10: 0.03}[products] * abs(exact)
    if hot == 0.5 and products == 60:
        assert abs(found.value - exact) > 1e-8 * abs(exact)


def test_more_zeros_are_visited_until_the_error_is_small():
    x, weights, components = case(0, missing=0.0)
    found = by_series(x, weights, components)
    assert found.error < 1e-4 * abs(found.value)
    assert abs(found.value - by_cell(x, weights, components)) <= found.error


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_powers_up_to_the_fourth_are_sums_over_all_cells(missing):
    _, weights, components = case(3)
    p = weights @ components
    pairs = zip(series._grams(weights, 4), series._grams(components.T, 4), strict=True)
    for j, (rows, columns) in enumerate(pairs):
        assert np.sum(rows * columns) == pytest.approx((p ** (j + 1)).sum(), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_fit_reports_likelihood_and_error(dtype):
    x, *_ = case(1)
    model = fz.AspectBernoulli(3, solver="sparse", random_state=0, max_iter=30, tol=1e-3)
    model.fit(sparse.csr_array(x.astype(dtype)))
    exact = by_cell(x, model.row_weights_.astype(float), model.components_)
    assert 0 < model.log_likelihood_error_ < 1e-4 * abs(exact)
    assert abs(model.log_likelihood_ - exact) <= model.log_likelihood_error_ + 1e-6 * abs(exact)
    assert fz.AspectBernoulli(3, random_state=0).fit(x).log_likelihood_error_ == 0.0


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_a_sparse_bound_reports_its_error(inference):
    x, *_ = case(2)
    table = sparse.csr_array(x)
    model = fz.BinaryICA(3, inference=inference, solver="sparse", random_state=0, tol=1e-4)
    blocks = Blocks.cut(table)
    fit = model._with_settled_rows(model._optimise(blocks), blocks)
    exact = exact_bound(model._variational(blocks, False), blocks, fit)
    model.fit(table)
    assert 0 < model.evidence_error_ < 1e-4 * abs(exact)
    assert abs(model.evidence_ - exact) <= model.evidence_error_


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("products", "order", "goal", "coldest", "visits", "limits"),
    [
        (60_000, 4, 1e-7, 0.01, 4.0, 1),
        (60_000, 4, 1e-7, 0.0375, 50.0, 2),
        (60_000, 4, 1e-3, 0.01, 50.0, 1),
        (60, 3, 1e-7, 0.01, 50.0, 3),
        (10, 2, 1e-7, 0.01, 50.0, 4),
        (10, 2, 1e-7, 0.01, 0.5, 1),
    ],
)
def test_value_and_error_are_those_of_a_sum_over_cells(
    missing, products, order, goal, coldest, visits, limits, monkeypatch
):
    monkeypatch.setattr(series, "_GRAM_PRODUCTS", products)
    monkeypatch.setattr(series, "GOAL", goal)
    monkeypatch.setattr(series, "_COLDEST", coldest)
    monkeypatch.setattr(series, "_MOST_VISITS", visits)
    for seed in range(3):
        x, weights, gaps = case(seed, missing=missing)
        # Weights of rows need not add up to one, nor need the ones be the gaps.
        weights, ones = 0.9 * weights, 0.5 + 0.5 * gaps
        for own in (gaps, ones):
            settings = (goal, coldest, visits)
            slow = reference.log_likelihood(x, weights, own, gaps, order, 0.15, settings)
            blocks = Blocks.cut(sparse.csr_array(x), block_rows=50)
            parts = [RowWeights(weights[block.rows]) for block in blocks]
            found = series_log_likelihood(blocks, parts, own, gaps, map_blocks)
            np.testing.assert_allclose(found.value, slow[-1][0], rtol=1e-12)
            np.testing.assert_allclose(found.error, slow[-1][1], rtol=1e-6)
            assert len(slow) == limits


@pytest.mark.parametrize(("factor", "limits"), [(1.001, 2), (0.999, 1)])
def test_as_many_hot_zeros_are_visited_as_ones_and_rows_allow(factor, limits, monkeypatch):
    x, weights, gaps = case(0)
    slow = reference.log_likelihood(x, weights, gaps, gaps, 4, 0.15, (1e-7, 0.06, np.inf))
    assert len(slow) == 2
    monkeypatch.setattr(series, "_COLDEST", 0.06)
    monkeypatch.setattr(series, "_MOST_VISITS", factor * slow[0][2])
    assert by_series(x, weights, gaps).value == pytest.approx(slow[limits - 1][0], rel=1e-12)


def test_the_coldest_limit_is_tried(monkeypatch):
    x, weights, gaps = case(0)
    monkeypatch.setattr(series, "_COLDEST", 0.15 / 2)
    monkeypatch.setattr(series, "_MOST_VISITS", 50.0)
    slow = reference.log_likelihood(x, weights, gaps, gaps, 4, 0.15, (1e-7, 0.15 / 2, 50.0))
    assert len(slow) == 2
    assert by_series(x, weights, gaps).value == pytest.approx(slow[-1][0], rel=1e-12)


def test_the_rest_of_nothing_is_nothing():
    found = series._with_bounds(np.zeros(3), -5.0, 0.15, 1e-9)
    assert found == (-5.0, 1e-9)
    found = series._with_bounds(np.array([1.0, 0.0, 1e-2]), 0.0, 0.1, 0.0)
    assert found.error == pytest.approx(0.1 * 1e-2 / (4 * 0.9) / 2), "no bound from below"
    # Where powers fall slowly, the next one is at most `hot` times the last.
    found = series._with_bounds(np.array([1.0, 1e-3, 1e-2]), 0.0, 0.1, 0.0)
    low, high = 0.1 * 1e-2 / 4, 0.1 * 1e-2 / (4 * 0.9)
    assert found.error == pytest.approx((high - low) / 2)
    assert found.value == pytest.approx(-(1 + 1e-3 / 2 + 1e-2 / 3) - (low + high) / 2)


def test_what_is_left_of_tiny_probabilities_is_rounding():
    x, weights, gaps = case(0)
    gaps = 1e-7 * gaps
    found = by_series(x, weights, gaps)
    slow = reference.log_likelihood(x, weights, gaps, gaps, 4, 0.15, (1e-7, 0.01, 4.0))
    assert found.error == pytest.approx(slow[-1][1], rel=1e-6)
    p = weights @ gaps
    assert found.error == pytest.approx(
        64 * 2**-52 * (p.sum() + (p**2).sum() + abs(np.log(p[x == 1]).sum())), rel=1e-6
    )


def test_what_is_left_where_every_zero_is_visited_is_rounding():
    """Ones and zeros both count with the size of their logarithms."""
    x, weights, _ = case(0)
    gaps = np.random.default_rng(1).uniform(0.3, 0.7, (4, 90))
    found, p = by_series(x, weights, gaps), weights @ gaps
    powers = sum((p**j).sum() for j in range(1, 5))
    rounding = 64 * 2**-52 * (powers + abs(by_cell(x, weights, gaps)))
    assert found.error == pytest.approx(rounding, rel=0.02)
