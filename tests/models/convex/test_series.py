"""The likelihood from the series against the sum over every cell."""

import numpy as np
import pytest
from scipy import sparse

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
