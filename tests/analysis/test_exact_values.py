"""Numbers of the smaller questions, each against its formula worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.analysis.align import match_components
from falsezero.analysis.annotate import _positions, _taken, to_anndata
from falsezero.analysis.coherence import _c_v, _npmi, _u_mass
from falsezero.analysis.diagnostics import diagnose, stack_chains, to_datatree
from falsezero.analysis.doubt import doubt_of, judge
from falsezero.analysis.impute import impute
from falsezero.analysis.ordering import (
    by_strongest,
    order_by_component,
    order_by_correspondence,
    ternary_coordinates,
)
from falsezero.analysis.plan import entropy_of
from falsezero.analysis.topics import (
    _between_rows,
    _tokens_by_component,
    best_rows,
    distinctive_words,
    linked_rows,
    page_rank,
    top_words,
)

TABLE = np.array([[4.0, 1, 0], [1, 1, 2], [0, 0, 9], [1, 0, 0]])
THETA = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
SHARE = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.7, 0.3]])


@pytest.fixture(name="topics")
def _topics():
    """A model whose weights and components are known."""
    model = fz.PLSA(2, max_iter=1, random_state=0).fit(TABLE)
    model.components_ = THETA
    model.transform = lambda X: 3 * SHARE
    return model


def test_tokens_are_shared_out_by_bayes_rule(topics):
    by_hand = np.zeros((2, 3))
    for share, row in zip(SHARE, TABLE, strict=True):
        for j, count in enumerate(row):
            joint = share * THETA[:, j]
            by_hand[:, j] += count * joint / joint.sum()
    np.testing.assert_allclose(_tokens_by_component(topics, TABLE), by_hand, rtol=1e-12)
    words = distinctive_words(topics, TABLE, 2)
    own, rest = by_hand
    assert set(words["rank"]) <= {1, 2}
    n_own, n_rest = own.sum(), rest.sum()

    def log_likelihood(x, n):
        return x * np.log(x / n) + (n - x) * np.log(1 - x / n)

    gain = log_likelihood(own, n_own) + log_likelihood(rest, n_rest)
    gain -= log_likelihood(own + rest, n_own + n_rest) + 0.5 * np.log(TABLE.sum())
    listed = words["component"] == 0
    more = own / n_own > rest / n_rest
    expected = np.sort(gain[more])[::-1][:2]
    np.testing.assert_allclose(words["log_bayes_factor"][listed], expected, rtol=1e-10)
    np.testing.assert_allclose(
        words["probability"][listed], THETA[0, words["word"][listed].astype(int)]
    )


def test_rows_are_ranked_by_their_excess_and_length(topics):
    length = np.array([5.0, 4, 9, 1])
    excess = (SHARE - SHARE.mean(axis=0)) * np.sqrt(length)[:, None]
    found = best_rows(topics, TABLE, 3)
    for k in range(2):
        mine = found["component"] == k
        order = np.argsort(-excess[:, k])[:3]
        assert found["row"][mine].tolist() == order.tolist()
        assert found["rank"][mine].tolist() == [1, 2, 3]
        np.testing.assert_allclose(found["share"][mine], SHARE[order, k])
    empty = TABLE.copy()
    empty[2] = 0
    assert best_rows(topics, empty, 1)["row"].tolist()[1] == 2, "an empty row has length one"


def test_top_words_are_numbered_from_one(topics):
    found = top_words(topics, 2)
    assert found["word"].tolist() == [0, 1, 2, 1]
    assert found["rank"].tolist() == [1, 2, 1, 2]
    np.testing.assert_allclose(found["probability"], [0.6, 0.3, 0.7, 0.2])


def test_page_rank_solves_its_equation(topics):
    """rank = d T' rank + (1 - d) start, with dangling rows starting anew."""
    links = np.array([[0.0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    found = page_rank(topics, TABLE, sparse.csr_array(links), damping=0.7)
    for k in range(2):
        start = SHARE[:, k] / SHARE[:, k].sum()
        towards = links * SHARE[None, :, k]
        move = np.array([row / row.sum() if row.sum() else start for row in towards])
        rank = np.linalg.solve(np.eye(4) - 0.7 * move.T, 0.3 * start)
        np.testing.assert_allclose(found[:, k], rank, atol=2e-6)
    table = fz.Table(TABLE, rows=list("abcd"))
    named = fz.Table(links, rows=list("abcd"), columns=list("abcd"))
    listed = linked_rows(topics, table, named, n=2)
    usual = page_rank(topics, TABLE, sparse.csr_array(links))
    assert listed["rank"].tolist() == [1, 2, 1, 2]
    best = [np.argsort(-usual[:, k])[:2] for k in range(2)]
    assert listed["row"].tolist() == ["abcd"[i] for each in best for i in each]
    np.testing.assert_allclose(
        listed["page_rank"], np.concatenate([usual[best[k], k] for k in range(2)])
    )


def test_links_are_matched_by_label():
    links = fz.Table([[1.0, 1, 0], [1, 0, 1]], rows=["a", "x"], columns=["b", "a", "x"])
    found = _between_rows(links, np.array(["a", "b"])).toarray()
    assert found.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    none = fz.Table([[0.0], [1.0]], rows=["a", "x"], columns=["a"])
    with pytest.raises(ValueError, match="names no link"):
        _between_rows(none, np.array(["a", "b"]))


def test_coherence_by_hand():
    """Two words: in half and in a quarter of the rows, together in an eighth."""
    together = np.array([[0.5, 0.125], [0.125, 0.25]])
    npmi = np.log(0.125 / 0.125) / -np.log(0.125)
    assert _npmi(together) == pytest.approx(npmi, abs=1e-9)
    assert _u_mass(together) == pytest.approx(np.log(0.125 / 0.5), abs=1e-9)
    together = np.array([[0.5, 0.2], [0.2, 0.25]])
    npmi = np.log(0.2 / 0.125) / -np.log(0.2)
    assert _npmi(together) == pytest.approx(npmi, abs=1e-9)
    vectors = np.array([[1.0, npmi], [npmi, 1.0]])
    whole = vectors.sum(axis=0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    assert _c_v(together) == pytest.approx((vectors @ whole / norms).mean(), abs=1e-9)
    never = np.array([[0.5, 0.0], [0.0, 0.0]])
    assert _npmi(never) == 0
    assert _u_mass(never) == pytest.approx(np.log(1e-12 / 0.5))
    assert _u_mass(never[::-1, ::-1]) == 0, "a first word that never occurs says nothing"
    assert _c_v(never) == pytest.approx(0.5)


def test_a_match_counts_weights_and_partners():
    reference = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 0]])
    found = match_components(reference, [[0, 1, 0], [2, 0, 0]], weights=[1, 3, 0])
    assert found.reference.tolist() == [0, 1]
    assert found.found.tolist() == [1, 0]
    np.testing.assert_allclose(found.similarity, [1, np.sqrt(0.5)])
    assert found.score == pytest.approx(0.25 + 0.75 * np.sqrt(0.5))
    assert match_components(reference, [[0, 1, 0]]).score == pytest.approx(np.sqrt(0.5) / 3)
    for wrong in ([0, 0, 0], [1, -1, 1]):
        with pytest.raises(ValueError, match="must not be negative"):
            match_components(reference, found=reference, weights=wrong)
    with pytest.raises(ValueError, match="same columns"):
        match_components(reference, [[1, 0]])


def test_doubt_is_noise_times_the_other_value():
    one, zero = (judge(np.array([0.8]), np.array([0.3]), np.array([0.6]), v) for v in (1, 0))
    np.testing.assert_allclose([one.probability[0], zero.probability[0]], [0.5 * 0.2, 0.5 * 0.8])
    assert judge(0.8, 0.3, 0.6, 0, floor=1.2).noise == pytest.approx(0.25)
    assert judge(0.8, 0.9, 0.6, 0).noise == 1
    model = fz.AspectBernoulli(2, prior=0, max_iter=5, random_state=0).fit((TABLE > 0) * 1.0)
    weights, keep = np.array([[0.4, 0.6]]), np.array([1.0, 0.0])
    model.components_ = np.array([[0.9, 0.2, 0.5], [0.1, 0.3, 0.6]])
    for value in (0, 1):
        found = doubt_of(model, weights, keep, value)
        makes = model.components_ if value else 1 - model.components_
        noise = 0.6 * makes[1] / (weights[0] @ makes)
        np.testing.assert_allclose(found.noise[0], noise)
        np.testing.assert_allclose(found.content[0], model.components_[0])
        other = 1 - model.components_[0] if value else model.components_[0]
        np.testing.assert_allclose(found.probability[0], noise * other)


def test_imputed_cells_come_in_order_or_by_certainty():
    rng = np.random.default_rng(0)
    table = (rng.random((12, 5)) < np.linspace(0.05, 0.95, 5)).astype(float)
    holes = [(1, 4), (1, 0), (7, 2), (9, 1)]
    for row, column in holes:
        table[row, column] = np.nan
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    whole = np.asarray(model.reconstruct(table))
    found = impute(model, table)
    assert list(zip(found["row"], found["column"], strict=True)) == sorted(holes)
    expected = np.array([whole[cell] for cell in sorted(holes)])
    np.testing.assert_allclose(found["expected"], expected, rtol=1e-6)
    few = impute(model, table, n=2)
    surest = np.argsort(-np.abs(expected - 0.5), kind="stable")[:2]
    np.testing.assert_allclose(few["expected"], expected[surest], rtol=1e-6)


def test_correspondence_orders_a_gradient():
    band = np.array([[1.0 * (abs(i - j) <= 1) for j in range(8)] for i in range(8)])
    shuffle = np.random.default_rng(0).permutation(8)
    for size in (8, 3):
        part = band[:, :size] if size == 8 else band[:4, :3]
        rows, columns = order_by_correspondence(part)
        assert rows.tolist() in (sorted(rows), sorted(rows)[::-1])
        assert columns.tolist() in (sorted(columns), sorted(columns)[::-1])
    rows, _ = order_by_correspondence(band[shuffle])
    assert shuffle[rows].tolist() in (list(range(8)), list(range(8))[::-1])
    empty = np.vstack([np.zeros(8), band])
    rows, columns = order_by_correspondence(np.column_stack([np.zeros(9), empty]))
    assert rows[-1] == 0
    assert columns[-1] == 0


def test_an_order_groups_by_the_strongest_component():
    weights = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])
    components = np.array([[0.1, 0.2, 0.3], [0.9, 0.1, 0.5]])
    model = fz.AspectBernoulli(2, prior=0, max_iter=2, random_state=0).fit((TABLE > 0) * 1.0)
    model.components_, model.transform = components, lambda X: weights
    table = fz.Table((TABLE > 0) * 1.0, rows=list("abcd"), columns=list("xyz"))
    order = order_by_component(model, table)
    assert order.components.tolist() == [1, 0], "the component with most ones first"
    assert order.rows.tolist() == [3, 1, 0, 2]
    made = weights.mean(axis=0)[:, None] * components
    assert order.column_component.tolist() == made.argmax(axis=0).tolist() == [1, 0, 1]
    assert order.columns.tolist() == [0, 2, 1]
    assert order.row_component.tolist() == [0, 1, 0, 1]
    assert order.row_breaks.tolist() == [2]
    assert order.column_breaks.tolist() == [2]
    shown = order.apply(table)
    assert shown.rows.tolist() == ["d", "b", "a", "c"]
    assert shown.columns.tolist() == ["x", "z", "y"]
    rows, columns, groups, column_groups = by_strongest(weights, components, np.array([1.0, 0.0]))
    assert rows.tolist() == [0, 2, 1, 3]
    assert groups.tolist() == [0] * 4
    assert columns.tolist() == [2, 1, 0]
    assert column_groups.tolist() == [0] * 3
    with pytest.raises(ValueError, match="same nodes on both sides"):
        order_by_component(model, table, network=True)


def test_a_square_table_with_equal_labels_is_a_network():
    weights = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    model = fz.AspectBernoulli(2, prior=0, max_iter=2, random_state=0).fit(np.eye(3))
    model.transform = lambda X: weights
    model.components_ = np.array([[0.1, 0.2, 0.3], [0.9, 0.1, 0.5]])
    for labels, is_network in ((list("abc"), True), ([0, 1, 2], False)):
        order = order_by_component(model, fz.Table(np.eye(3), rows=labels, columns=labels))
        assert np.array_equal(order.rows, order.columns) is is_network
        assert np.array_equal(order.row_component, order.column_component) is is_network


def test_a_point_without_weights_is_the_middle_of_the_triangle():
    np.testing.assert_allclose(
        ternary_coordinates([[0, 0, 0], [1, 1, 2]]), [[0.5, np.sqrt(0.75) / 3], [0.5, 0.433013]],
        atol=1e-6,
    )  # fmt: skip
    with pytest.raises(ValueError, match="3 components"):
        ternary_coordinates([[1, 0]])


def test_a_seed_is_the_whole_of_its_sequence():
    assert entropy_of(3) == entropy_of(3) != entropy_of(4)
    assert 2**64 < entropy_of(3) < 2**128


def test_names_of_an_annotated_object_are_looked_up():
    assert _positions(np.array(["b", "a"]), np.array(["a", "c", "b"])).tolist() == [1, -1, 0]
    np.testing.assert_array_equal(
        _taken(np.array([5.0, 7.0]), np.array([1, -1, 0])), [7.0, np.nan, 5.0]
    )
    anndata = pytest.importorskip("anndata")
    values = (np.random.default_rng(0).random((9, 4)) < 0.5).astype(np.float32)
    adata = anndata.AnnData(values)
    table = fz.as_table(adata)
    model = fz.AspectBernoulli(2, random_state=0, max_iter=5).fit(table)
    turned = adata[:, ::-1].copy()
    np.testing.assert_allclose(
        to_anndata(model, turned, key="k").varm["k"], model.components_.T[::-1]
    )
    np.testing.assert_allclose(turned.obsm["X_k"], model.row_weights_)
    with pytest.raises(fz.DataError, match="fitted to 9 rows, but the AnnData object has 8"):
        to_anndata(model, adata[:8].copy())
    denoised = fz.denoise(model, table)
    np.testing.assert_allclose(
        to_anndata(denoised, turned, key="d").layers["d"],
        np.asarray(denoised.probability.to_numpy())[:, ::-1],
    )


class Sampled(fz.PLSA):
    """A model that was fitted by two chains of six draws."""

    def __init__(self, chains=()):
        super().__init__()
        self.chains_ = list(chains)
        self.components_ = np.eye(2)


def test_diagnoses_are_those_of_arviz():
    stats = pytest.importorskip("arviz_stats.base").array_stats
    rng = np.random.default_rng(0)
    draws = [
        {"log_joint": rng.normal(size=6), "several": rng.normal(size=(6, 2)), "still": np.ones(6)}
        for _ in range(2)
    ]
    model = Sampled(draws)
    found = diagnose(model)
    stacked = stack_chains(model)
    assert found["quantity"].tolist() == ["log_joint", "several", "still"]
    np.testing.assert_allclose(found["mean"], [stacked[n].mean() for n in stacked])
    np.testing.assert_allclose(found["sd"], [stacked[n].std() for n in stacked])
    several = stacked["several"]
    worst = [
        (stats.rhat(v), stats.ess(v, method="bulk"), stats.ess(v, method="tail", prob=(0.05, 0.95)))
        for v in (several[:, :, 0], several[:, :, 1])
    ]
    assert found["r_hat"][1] == pytest.approx(max(w[0] for w in worst))
    assert found["ess_bulk"][1] == pytest.approx(min(w[1] for w in worst))
    assert found["ess_tail"][1] == pytest.approx(min(w[2] for w in worst))
    assert np.isnan(found["r_hat"][2])
    for length, is_known in ((3, False), (4, True)):
        few = Sampled([{"x": chain["log_joint"][:length]} for chain in draws])
        assert np.isfinite(diagnose(few)["r_hat"][0]) == is_known
    pytest.importorskip("xarray")
    tree = to_datatree(model, fz.Table(np.eye(2), rows=["a", "b"], columns=["x", "y"]))
    assert tree["posterior"]["several"].dims == ("chain", "draw", "several_dim_0")
    np.testing.assert_array_equal(tree["sample_stats"]["lp"], stacked["log_joint"])
    assert tree["posterior"]["still"].coords["draw"].values.tolist() == list(range(6))
    assert tree["observed_data"]["cells"].coords["column"].values.tolist() == ["x", "y"]


def test_entropies_are_minus_the_expected_log_likelihood():
    rng = np.random.default_rng(0)
    X = (rng.random((6, 4)) < 0.5).astype(float)
    X[0, 1] = np.nan
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(X)
    found = fz.analysis.metrics.entropies(model, X)
    assert found.expected_log_likelihood == -found.row_weights - found.components
    s, a = np.asarray(model.transform(X)), model.components_
    q, seen = np.zeros((2, 6, 4)), ~np.isnan(X)
    for n, t in zip(*np.nonzero(seen), strict=True):
        joint = s[n] * np.where(X[n, t] == 1, a[:, t], 1 - a[:, t])
        q[:, n, t] = joint / joint.sum()
    cells = seen.sum(axis=1)
    share = q.sum(axis=2) / cells
    rows = -(cells * np.where(share > 0, share * np.log(np.maximum(share, 1e-300)), 0)).sum()
    rate = (q * (X == 1)).sum(axis=1) / np.maximum(q.sum(axis=1), 1e-300)
    inside = np.clip(rate, 1e-300, 1)
    other = np.clip(1 - rate, 1e-300, 1)
    entropy = -(rate * np.log(inside) + (1 - rate) * np.log(other))
    assert found.row_weights == pytest.approx(rows, rel=1e-6)
    assert found.components == pytest.approx((entropy * q.sum(axis=1)).sum(), rel=1e-6)
