"""Values at the very edge of a rule, and the constants behind lists and scores."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats

import falsezero as fz
from falsezero.analysis import (
    annotate,
    gaps,
    heldout,
    impute,
    metrics,
    noise,
    ordering,
    selection,
    topics,
)
from falsezero.analysis.best_cells import best_zeros
from falsezero.analysis.compare import Comparison
from falsezero.analysis.evidence import (
    _inside,
    _Parameters,
    beta_log_density,
    dirichlet_log_density,
)
from falsezero.analysis.gaps import cause_text, ones_of, refuse_too_many
from falsezero.analysis.heldout import hide_cells
from falsezero.analysis.noise import Denoised, find_phantoms
from falsezero.data.blocks import Blocks
from falsezero.data.tidy import Tidy


def convex(components, weights):
    """A fit of Aspect Bernoulli that knows its factors."""
    model = fz.AspectBernoulli(len(components), random_state=0).fit(np.eye(len(components[0])))
    model.components_, model.row_weights_ = np.array(components), np.array(weights)
    return model


# -- phantoms -------------------------------------------------------------------------------------


def test_a_rate_at_the_threshold_is_no_phantom():
    # Density 0.5 * 0.25 + 0.5 * 0.75 = 0.5: one-rates are 0.5 and 1.5, zero-rates 1.5 and 0.5.
    model = convex([[0.25, 0.25], [0.75, 0.75]], [[0.5, 0.5]] * 2)
    found = find_phantoms(model, threshold=0.5)
    np.testing.assert_allclose(found.one_rate, [0.5, 1.5])
    np.testing.assert_allclose(found.zero_rate, [1.5, 0.5])
    assert found.kinds.tolist() == ["content", "content"]
    assert find_phantoms(model, threshold=0.5001).kinds.tolist() == ["white", "black"]
    assert found.keep.tolist() == [1, 1]
    assert find_phantoms(model, threshold=0.5001).keep.tolist() == [0, 0]


def test_a_component_that_makes_ones_somewhere_is_not_white():
    weights = [[0.5, 0.5]] * 4
    sometimes = convex([[0.5, 0, 0, 0, 0, 0, 0, 0], [0.9] * 8], weights)
    assert find_phantoms(sometimes).kinds.tolist()[0] == "content"
    seldom = convex([[0.499, 0, 0, 0, 0, 0, 0, 0], [0.9] * 8], weights)
    assert find_phantoms(seldom).kinds.tolist()[0] == "white"
    np.testing.assert_allclose(find_phantoms(seldom).weights, [0.5, 0.5])
    assert find_phantoms(seldom).threshold == 1 / 3


def test_probabilities_at_the_threshold_are_ones():
    model = SimpleNamespace(_expected=lambda weights: weights)
    recorded = sparse.csr_array(np.array([[1.0, 0, np.nan], [0, 1, 0]]))
    weights = np.array([[0.3, 0.5, 0.7], [0.2, 0.49, 0.1]])
    clean = Denoised(model, np.ones(1), weights, np.arange(2), np.arange(3), 0.5, recorded)
    np.testing.assert_array_equal(clean.binary.to_numpy(), [[0, 1, 1], [0, 0, 0]])
    assert clean.changes == {
        "zeros made ones": 1,
        "ones made zeros": 2,
        "ones where nothing was observed": 1,
        "columns left without ones": 1,
    }
    assert clean.summary.startswith("Changed: 1 zeros made ones, 2 ones made zeros")
    careful = Denoised(
        model, np.ones(1), weights, np.arange(2), np.arange(3), 0.5, recorded, changes_ones=False
    )
    np.testing.assert_array_equal(careful.binary.to_numpy(), [[1, 1, 1], [0, 1, 0]])
    same = Denoised(
        model, np.ones(1), np.eye(2), np.arange(2), np.arange(2), 0.5, sparse.csr_array(np.eye(2))
    )
    assert same.summary == "Changed nothing."


def test_tables_are_rounded_some_rows_at_a_time(monkeypatch):
    model = SimpleNamespace(_expected=lambda weights: weights)
    weights = np.random.default_rng(0).random((7, 3))
    clean = [Denoised(model, np.ones(1), weights, np.arange(7), np.arange(3)) for _ in range(3)]
    for one, cells in zip(clean, (4_000_000, 6, 2), strict=True):
        monkeypatch.setattr(noise, "_AT_A_TIME", cells)
        np.testing.assert_array_equal(one.binary.to_numpy(), weights >= 0.5)
    monkeypatch.setattr(noise, "_MOST_DENSE", 21)
    np.testing.assert_array_equal(clean[0].probability.to_numpy(), weights)
    monkeypatch.setattr(noise, "_MOST_DENSE", 20)
    with pytest.raises(ValueError, match="7 x 3 table take too much memory"):
        clean[1].probability  # noqa: B018


def test_components_of_nothing_but_ones_are_black():
    full = find_phantoms(convex([[1.0, 1.0], [1.0, 1.0]], [[0.5, 0.5]] * 2))
    assert full.kinds.tolist() == ["black", "black"]
    np.testing.assert_allclose(full.one_rate, 1)
    assert (full.zero_rate == 0).all()
    empty = find_phantoms(convex([[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5]] * 2))
    assert empty.kinds.tolist() == ["white", "white"]


# -- doubtful cells -------------------------------------------------------------------------------


def test_causes_are_the_three_strongest_of_a_twentieth_and_more():
    shares = np.array([0.05, 0.5, 0.049, 0.3, 0.101])
    assert cause_text(shares) == "1 (0.50), 3 (0.30), 4 (0.10)"
    assert cause_text(np.array([0.95, 0.05, 0.0])) == "0 (0.95), 1 (0.05)"
    assert cause_text(np.array([0.951, 0.049])) == "0 (0.95)"


def test_a_label_that_is_there_once_is_found_beside_one_that_is_there_twice():
    labels = np.array(["a", "b", "b"])
    assert gaps.positions_of(labels, ["a"]).tolist() == [0]
    assert gaps.positions_of(labels, "a").tolist() == [0]
    with pytest.raises(fz.DataError, match="2 rows are labelled 'b'"):
        gaps.positions_of(labels, ["a", "b"])


def test_lists_of_just_the_longest_length_are_kept(monkeypatch):
    monkeypatch.setattr(gaps, "_MOST", 7)
    refuse_too_many(7, None, "p", 0.5)
    refuse_too_many(8, 3, "p", 0.5)
    with pytest.raises(ValueError, match=r"More than 7 cells are listed by p=0\.5"):
        refuse_too_many(8, None, "p", 0.5)


def test_ones_come_in_parts_of_any_size(monkeypatch):
    table = np.array([[1.0, 0, 1], [0, 0, 0], [0, 1, 1]])
    [block] = Blocks.cut(sparse.csr_array(table), block_rows=3)
    for size in (1, 2, 3, 4, 100):
        monkeypatch.setattr(gaps, "_AT_A_TIME", size)
        parts = list(ones_of(block))
        assert all(len(rows) == len(columns) <= size for rows, columns in parts)
        rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
        assert list(zip(rows, columns, strict=True)) == [(0, 0), (0, 2), (2, 1), (2, 2)]
    [nothing] = Blocks.cut(sparse.csr_array(np.zeros((2, 2))), block_rows=2)
    assert [len(rows) for rows, _ in ones_of(nothing)] == [0]


# -- scores ---------------------------------------------------------------------------------------


def test_cells_of_a_large_table_are_drawn_without_repeats(monkeypatch):
    monkeypatch.setattr(heldout, "MOST_HIDDEN", 60)
    table = fz.Table((np.random.default_rng(0).random((20, 10)) < 0.4).astype(float))
    parts = [hide_cells(table, 3, seed=1, part=i) for i in range(3)]
    cells = np.concatenate([part.rows * 10 + part.columns for part in parts])
    assert len(np.unique(cells)) == len(cells) <= 60
    assert len(cells) > 40
    for part in parts:
        np.testing.assert_array_equal(part.values, table.to_numpy()[part.rows, part.columns])
        assert np.isnan(part.table.to_numpy()[part.rows, part.columns]).all()
        assert part.table.n_missing == len(part.values)
    small = fz.Table(np.ones((6, 10)))
    whole = [hide_cells(small, 3, seed=1, part=i) for i in range(3)]
    assert sum(len(part.values) for part in whole) == 60


def test_cross_entropy_by_cell_leaves_out_what_was_not_observed():
    table = np.array([[1.0, 0, np.nan], [0, 1, 1]])
    model = SimpleNamespace(score_samples=lambda table: np.array([-2.0, -3.0]))
    assert metrics.cross_entropy(model, table) == pytest.approx(2.5 / np.log(2))
    assert metrics.cross_entropy(model, table, per="cell") == pytest.approx(1.0 / np.log(2))
    assert metrics.cross_entropy(model, table, per="cell", base=np.e) == pytest.approx(1.0)


def test_perplexities_too_large_for_a_double_are_infinite():
    for bits, expected in ((10.0, 1024.0), (1023.0, 2.0**1023), (1024.0, np.inf), (1500.0, np.inf)):
        model = SimpleNamespace(
            score_samples=lambda table, bits=bits: np.array([-bits * np.log(2)])
        )
        assert metrics.perplexity(model, np.ones((1, 1))) == pytest.approx(expected)


def test_one_half_is_rounded_to_a_one():
    assert metrics.noise_removal([[1, 0]], [[0, 0]], [[0.5, 0.5]]) == (0.5, 1.0, 0.0)
    assert metrics.reconstruction_error([[1, 0, 0]], [[0.5, 0.5, 0.49]]) == pytest.approx(1 / 3)
    # Only above zero is a one; what the noise added is judged where it was added.
    assert metrics.reconstruction_error([[0.0, 2.0]], [[0.1, 0.9]]) == 0
    found = metrics.noise_removal([[0, 1, 0]], [[1, 1, 0]], [[0.5, 0.5, 0.4]], noise="additions")
    assert found.false_negative == 1
    assert found.false_positive == 0


def test_gaps_of_a_table_before_and_after():
    table = [[1, 0], [0, np.nan], [0, 0], [1, 0]]
    assert metrics.gap_counts(table, order=[1, 2, 3, 4]) == (2, 0, 0, 2)
    restored = [[0, 0.5], [0.5, 0.9], [0.4, 0.5], [0, 0]]
    assert metrics.gap_counts(table, [1, 2, 3, 4], restored) == (2, 1, 2, 1)
    assert metrics.gap_counts([[1], [0], [1]], order=[1, 3, 2]) == (0, 0, 0, 0)


def test_tables_as_large_as_allowed_are_judged(monkeypatch):
    monkeypatch.setattr(metrics, "_MOST_CELLS", 6)
    assert metrics.reconstruction_error(np.eye(2), np.eye(2)) == 0
    assert metrics.reconstruction_error(np.ones((2, 3)), np.ones((2, 3))) == 0
    with pytest.raises(ValueError, match="too large"):
        metrics.reconstruction_error(np.ones((1, 7)), np.ones((1, 7)))


def test_a_comparison_of_one_model_names_no_rival():
    one = Comparison("a", "rows", Tidy({"model": ["a"]}), 0.5, "signed-rank", None, {}, "")
    assert repr(one).splitlines()[0] == "a is best by rows"
    two = Tidy({"model": ["a", "b"]})
    unsure = Comparison("a", "bic", two, float("nan"), "signed-rank", None, {}, "")
    assert repr(unsure).splitlines()[0] == "a is best by bic"


# -- densities ------------------------------------------------------------------------------------


def test_densities_are_those_of_scipy():
    x = np.array([0.2, 0.7])
    expected = stats.beta(2.5, 0.6).logpdf(x)
    np.testing.assert_allclose(beta_log_density(x, 2.5, 0.6), expected)
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    gamma = np.array([0.7, 1.5, 2.0])
    expected = [stats.dirichlet(gamma).logpdf(row) for row in rows]
    np.testing.assert_allclose(dirichlet_log_density(rows, gamma), expected)
    each = np.array([gamma, gamma[::-1]])
    expected = [stats.dirichlet(g).logpdf(row) for g, row in zip(each, rows, strict=True)]
    np.testing.assert_allclose(dirichlet_log_density(rows, each), expected)
    joint = _Parameters(np.full((3, 2), 2.5), np.full((3, 2), 0.6), each)
    sources = np.full((3, 2), 0.2)
    total = 6 * stats.beta(2.5, 0.6).logpdf(0.2) + sum(expected)
    assert joint.log_density(rows, sources) == pytest.approx(total)


def test_blended_parameters_are_those_of_a_product_of_powers():
    q, p = _Parameters(2.0, 3.0, 4.0), _Parameters(0.5, 1.0, 1.5)
    assert tuple(q.blend(p, 0.25)) == pytest.approx((1.625, 2.5, 3.375))
    inside = _inside(np.array([0.0, 0.5, 1.0]))
    assert inside[0] > 0
    assert inside[1] == 0.5
    assert inside[2] < 1


def test_shares_of_rows_without_weights_are_equal():
    model = SimpleNamespace(
        components_=np.ones((4, 2)),
        transform=lambda table: np.array([[0.0, 0, 0, 0], [1, 3, 0, 0]]),
    )
    np.testing.assert_allclose(topics._shares(model, None), [[0.25] * 4, [0.25, 0.75, 0, 0]])


# -- orders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(9, 7), (3, 5), (6, 3), (2, 6), (1, 4), (4, 4)])
def test_correspondence_is_the_second_singular_vector(shape):
    rng = np.random.default_rng(sum(shape))
    table = (rng.random(shape) < 0.5).astype(float)
    table[0, 0], table[-1, -1] = 1, 1
    rows, columns = ordering.order_by_correspondence(table)
    by_row, by_column = table.sum(axis=1), table.sum(axis=0)
    scaled = table / np.sqrt(np.outer(np.maximum(by_row, 1), np.maximum(by_column, 1)))
    left, _, right = np.linalg.svd(scaled, full_matrices=False)
    second = min(1, min(shape) - 1)
    for found, vector, total in (
        (rows, left[:, second], by_row),
        (columns, right[second], by_column),
    ):
        known = np.flatnonzero(total)
        along = (vector / np.sqrt(np.maximum(total, 1)))[found[: len(known)]]
        assert sorted(found[: len(known)]) == known.tolist(), "empty ones come last"
        steps = np.diff(along)
        assert (steps >= -1e-9).all() or (steps <= 1e-9).all()


# -- topics ---------------------------------------------------------------------------------------


def test_bayes_factors_of_many_words_by_hand():
    rng = np.random.default_rng(0)
    own, rest, n_own, n_rest = rng.uniform(0.1, 3, 40), rng.uniform(0.1, 9, 40), 12.5, 31.0
    own[0], rest[0] = 1.25, 3.1

    def height(x, n):
        return x * np.log(x / n) + (n - x) * np.log(1 - x / n)

    found = topics._log_bayes_factor(own, n_own, rest, n_rest)
    for x, y, factor in zip(own, rest, found, strict=True):
        if x / n_own > y / n_rest + 1e-12:
            gain = height(x, n_own) + height(y, n_rest) - height(x + y, n_own + n_rest)
            assert factor == pytest.approx(gain - 0.5 * np.log(43.5))
        else:
            assert factor == -np.inf
    assert found[0] == -np.inf, "as often as elsewhere is not more often"
    one = topics._log_bayes_factor(np.array([0.6]), 0.9, np.array([0.1]), 0.6)
    gain = height(0.6, 0.9) + height(0.1, 0.6) - height(0.7, 1.5)
    assert one[0] == pytest.approx(gain - 0.5 * np.log(1.5))


def test_tokens_are_shared_out_some_rows_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (7, 4)).astype(float)
    counts[:, 3] = 1
    model = fz.PLSA(2, random_state=0, max_iter=3, tol=1.0).fit(counts)
    # No component makes the last word, so that nobody gets its tokens.
    model.components_ = np.array([[0.6, 0.4, 0.0, 0.0], [0.1, 0.2, 0.7, 0.0]])
    share = rng.dirichlet(np.ones(2), 7)
    model.transform = lambda X: share
    expected = np.zeros((2, 4))
    for row, own in zip(counts, share, strict=True):
        for j in range(3):
            joint = own * model.components_[:, j]
            expected[:, j] += row[j] * joint / joint.sum()
    for size in (1024, 3, 1):
        monkeypatch.setattr(topics, "_ROWS", size)
        np.testing.assert_allclose(topics._tokens_by_component(model, counts), expected)


def test_long_rows_come_before_short_ones_with_a_larger_share():
    counts = np.array([[1.0, 0], [9, 0], [0, 4], [0, 1]])
    share = np.array([[0.9, 0.1], [0.85, 0.15], [0.15, 0.85], [0.1, 0.9]])
    model = fz.PLSA(2, random_state=0).fit(counts)
    model.transform = lambda X: share
    assert topics.best_rows(model, counts, 2)["row"].tolist() == [1, 0, 2, 3]


def test_shares_need_weights_and_components_from_zero_up():
    weights, components = np.array([[0.5, 0.5]]), np.array([[0.1, 0.9], [0.0, 1.0]])
    for w, c in ((-weights, components), (weights, -components)):
        model = SimpleNamespace(components_=c, transform=lambda X, w=w: w)
        with pytest.raises(TypeError, match="below zero"):
            topics._shares(model, None)
    model = SimpleNamespace(components_=components, transform=lambda X: np.array([[0.0, 2.0]]))
    np.testing.assert_array_equal(topics._shares(model, None), [[0, 1]])


# -- lists and numbers of components --------------------------------------------------------------


def test_missing_cells_are_predicted_some_rows_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    table = (rng.random((11, 4)) < 0.5).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(table)
    whole = impute.impute(model, table)
    assert len(whole) == np.isnan(table).sum()
    for cells in (4, 9):
        monkeypatch.setattr(impute, "_ROWS_OF_CELLS", cells)
        found = impute.impute(model, table)
        assert found["row"].tolist() == whole["row"].tolist()
        np.testing.assert_allclose(found["expected"], whole["expected"], atol=1e-6)


def test_the_edge_of_the_numbers_tried():
    assert selection.edge_warning(3, [3, 3]) == ""
    assert "smallest" in selection.edge_warning(2, [2, 3])
    assert selection.edge_warning(1, [1, 5]) == ""
    assert "range(1, 9)" in selection.edge_warning(2, [1, 2])
    assert "range(2, 12)" in selection.edge_warning(5, [5, 9])


def test_names_of_an_annotated_object_that_is_alone():
    assert annotate._positions(np.array(["a"]), np.array(["a"])).tolist() == [0]
    with pytest.raises(fz.DataError, match="No name of the AnnData object"):
        annotate._positions(np.array(["a"]), np.array(["b"]))
    for half in ({"expected": 1}, {"zeros": 1}):
        with pytest.raises(TypeError, match="not a SimpleNamespace"):
            annotate.to_anndata(SimpleNamespace(**half), None)


def test_unsorted_tables_are_searched_alike():
    weights, components = np.array([[0.3, 0.7], [0.9, 0.1]]), np.array([[0.9, 0.5, 0.2, 0.4]] * 2)
    components[1] = [0.1, 0.6, 0.8, 0.3]
    table = sparse.csr_array(np.array([[1.0, 0, 1, 0], [1, 1, 0, 0]]))
    mixed = sparse.csr_array((table.data, table.indices[[1, 0, 3, 2]], table.indptr), (2, 4))
    assert not mixed.has_sorted_indices
    expected = weights @ components
    for stored in (table, mixed):
        found = best_zeros(weights, components, stored, 4)
        zeros = sorted((-expected[cell], *cell) for cell in np.argwhere(table.toarray() == 0)
                        for cell in [tuple(cell)])  # fmt: skip
        np.testing.assert_allclose(found.scores, [-score for score, _, _ in zeros])
        assert found.rows.tolist() == [row for _, row, _ in zeros]
        assert found.columns.tolist() == [column for _, _, column in zeros]
