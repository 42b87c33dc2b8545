import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.analysis.best_cells import Search, best_zeros
from falsezero.analysis.doubt import doubt_of


def problem(seed, n_rows=80, n_columns=50, k=5, levels=None):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(k, 0.3), n_rows)
    components = rng.beta(0.3, 1.5, (k, n_columns))
    if levels:
        weights = np.round(weights * levels) / levels
        components = np.round(components * levels) / levels
    table = sparse.csr_array((rng.random((n_rows, n_columns)) < 0.3).astype(float))
    table.data[rng.random(table.nnz) < 0.1] = np.nan
    return weights, components, table


def by_sorting(expected, table, n, least):
    """Every cell looked at."""
    cells = np.flatnonzero((table.toarray() == 0).ravel() & (expected.ravel() >= least))
    best = cells[np.argsort(-expected.ravel()[cells], kind="stable")][:n]
    return [part.tolist() for part in np.divmod(best, table.shape[1])]


@pytest.mark.parametrize("n", [1, 7, 300, 10_000])
@pytest.mark.parametrize("least", [0.0, 0.4])
def test_the_search_finds_what_sorting_all_cells_finds(n, least):
    for seed in range(10):
        weights, components, table = problem(seed)
        found = best_zeros(weights, components, table, n, least=least)
        expected = weights @ components
        assert [found.rows.tolist(), found.columns.tolist()] == by_sorting(
            expected, table, n, least
        )
        np.testing.assert_allclose(found.scores, expected[found.rows, found.columns], rtol=1e-12)


def test_equal_scores_come_in_the_order_of_the_table():
    for seed in range(20):
        weights, components, table = problem(seed, levels=4)
        found = best_zeros(weights, components, table, 40)
        # In quarters of quarters every sum is exact, whatever its order.
        assert [found.rows.tolist(), found.columns.tolist()] == by_sorting(
            weights @ components, table, 40, 0.0
        )


def test_weights_need_not_add_up_to_one():
    rng = np.random.default_rng(0)
    weights, components, table = problem(0)
    weights *= rng.gamma(1.0, 3.0, (len(weights), 1))
    found = best_zeros(weights, components, table, 30)
    expected = by_sorting(weights @ components, table, 30, 0.0)
    assert [found.rows.tolist(), found.columns.tolist()] == expected


def test_an_average_of_models_is_a_model():
    (w, f, table), (v, g, _) = problem(0), problem(1, k=3)
    found = best_zeros(np.hstack([w / 2, v / 2]), np.vstack([f, g]), table, 25)
    expected = by_sorting((w @ f + v @ g) / 2, table, 25, 0.0)
    assert [found.rows.tolist(), found.columns.tolist()] == expected


def test_blocks_give_what_the_whole_table_gives():
    weights, components, table = problem(3)
    whole = best_zeros(weights, components, table, 20)
    search = Search(components, 20)
    for start in range(0, 80, 16):
        search.visit(start, weights[start : start + 16], table[start : start + 16])
    for ours, theirs in zip(search.found(), whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_few_of_ten_billion_cells_are_looked_at():
    """The list is found by reading list heads: a visit to all cells would take minutes."""
    rng = np.random.default_rng(0)
    n_rows, n_columns = 40_000, 250_000
    weights = rng.dirichlet(np.full(4, 0.1), n_rows)
    components = rng.beta(0.05, 5.0, (4, n_columns))
    table = sparse.csr_array((n_rows, n_columns))
    found = best_zeros(weights, components, table, 100)
    best = np.argsort(-components.max(axis=0))[:200]
    p = weights @ components[:, best]
    np.testing.assert_allclose(found.scores, -np.sort(-p, axis=None)[:100], rtol=1e-12)


@pytest.mark.parametrize("keep", [[1, 0, 1], [1, 0.3, 0.8], "rows"])
def test_doubtful_zeros_are_those_that_a_visit_to_all_cells_finds(keep):
    rng = np.random.default_rng(5)
    x = (rng.random((90, 40)) < rng.dirichlet(np.ones(3), 90) @ rng.beta(0.3, 0.8, (3, 40))) * 1.0
    x[rng.random(x.shape) < 0.05] = np.nan
    model = fz.AspectBernoulli(3, random_state=0, max_iter=60, tol=0.001).fit(x)
    keep = rng.random((90, 3)) if isinstance(keep, str) else np.array(keep, float)
    doubt = doubt_of(model, model.transform(x), keep, 0).probability
    for n, least in ((15, 0.0), (None, 0.1)):
        found = fz.false_absences(model, x, keep=keep, n=n, min_probability=least)
        cells = np.sort(doubt[(x == 0) & (doubt >= least)])[::-1][:n]
        np.testing.assert_allclose(found["probability"], cells, rtol=1e-9)
        np.testing.assert_allclose(doubt[found["row"], found["column"]], cells, rtol=1e-9)
