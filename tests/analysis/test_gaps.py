import weakref

import numpy as np
import pytest
from tests.reference import convex as slow

import falsezero as fz


@pytest.fixture(scope="module")
def case():
    """A table with known omissions: content first, then each row wiped at its own rate."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(3, 0.2), 1500)
    A = np.where(rng.random((3, 120)) < 0.4, 0.92, 0.04)
    content = (rng.random((1500, 120)) < W @ A).astype(float)
    wiped = rng.random(content.shape) < rng.uniform(0, 0.5, (1500, 1))
    X = fz.as_table(
        np.where(wiped, 0, content),
        rows=[f"r{i}" for i in range(1500)],
        columns=[f"c{i}" for i in range(120)],
    )
    model = fz.AspectBernoulli(4, prior=0, n_init=3, random_state=0).fit(X)
    return content, X, model


def test_the_probability_of_a_false_absence_is_calibrated(case):
    content, X, model = case
    found = fz.false_absences(model, X, min_probability=0.05)
    rows = [X.row(r) for r in found["row"]]
    columns = [X.column(c) for c in found["column"]]
    truth = content[rows, columns]
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (found["probability"] >= low) & (found["probability"] < low + 0.2)
        assert inside.sum() > 200
        assert abs(truth[inside].mean() - found["probability"][inside].mean()) < 0.1


def test_best_come_first_and_only_zeros_are_listed(case):
    _, X, model = case
    found = fz.false_absences(model, X, n=50)
    assert len(found) == 50
    assert (np.diff(found["probability"]) <= 0).all()
    dense = X.to_numpy()
    assert all(
        dense[X.row(r), X.column(c)] == 0
        for r, c in zip(found["row"], found["column"], strict=True)
    )
    assert all(found["causes"])
    ones = fz.false_presences(model, X, keep=[1, 1, 0.5, 1], n=20, min_probability=0)
    assert all(
        dense[X.row(r), X.column(c)] == 1 for r, c in zip(ones["row"], ones["column"], strict=True)
    )


def test_columns_agree_with_the_formulas(case):
    _, X, model = case
    keep = fz.find_phantoms(model).keep
    found = fz.false_absences(model, X, n=5)
    weights = np.asarray(model.transform(X))
    q = slow.posterior(X.to_numpy(), weights, model.components_)
    kept = weights * keep / (weights * keep).sum(axis=1, keepdims=True)
    for row in found.to_rows():
        n, t = X.row(row["row"]), X.column(row["column"])
        assert row["noise"] == pytest.approx(q[n, t, keep == 0].sum())
        assert row["content"] == pytest.approx(kept[n] @ model.components_[:, t])
        assert row["probability"] == pytest.approx(row["noise"] * row["content"])


def test_added_ones_are_listed_as_false_presences():
    rng = np.random.default_rng(1)
    W = rng.dirichlet(np.full(2, 0.2), 800)
    A = np.where(rng.random((2, 40)) < 0.3, 0.9, 0.02)
    clean = (rng.random((800, 40)) < W @ A).astype(float)
    X = fz.corrupt(clean, add=0.4, random_state=0)
    model = fz.AspectBernoulli(3, prior=0, n_init=3, random_state=0).fit(X)
    assert len(fz.find_phantoms(model).black) == 1
    found = fz.false_presences(model, X, min_probability=0.8)
    assert len(found) > 500
    assert clean[found["row"], found["column"]].mean() < 0.2


def test_expansion_lists_absent_columns_best_first(case):
    _, X, model = case
    found = fz.expand(model, X, rows=["r3", "r1"], n=4)
    assert found["row"].tolist() == ["r3"] * 4 + ["r1"] * 4
    dense = X.to_numpy()
    assert all(dense[X.row(r["row"]), X.column(r["column"])] == 0 for r in found.to_rows())
    assert (np.diff(found["noise"][:4]) <= 0).all()


def test_unknown_rows_are_named(case):
    _, X, model = case
    with pytest.raises(ValueError, match="no row labelled 'Atlantis'"):
        fz.expand(model, X, rows=["Atlantis"])


def test_explanations_are_the_posterior_of_equation_four(case):
    _, X, model = case
    causes = fz.explain(model, X, rows=["r5", "r700"], columns=["c0", "c9"], n=4, min_posterior=0)
    assert len(causes) == 2 * 2 * 4
    q = slow.posterior(X.to_numpy(), np.asarray(model.transform(X)), model.components_)
    for row in causes.to_rows():
        expected = q[X.row(row["row"]), X.column(row["column"]), row["component"]]
        assert row["posterior"] == pytest.approx(expected, abs=1e-12)
        assert row["value"] == X.to_numpy()[X.row(row["row"]), X.column(row["column"])]


def test_cells_not_observed_have_no_explanation():
    X = np.array([[1, 0, np.nan], [0, 1, 1], [1, np.nan, 0]])
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(X)
    causes = fz.explain(model, X, n=1)
    assert len(causes) == 7


def test_nothing_asked_for_gives_an_empty_list(case):
    _, X, model = case
    assert len(fz.explain(model, X, rows=[])) == 0
    assert len(fz.explain(model, X, columns=[])) == 0
    assert len(fz.expand(model, X, rows=[])) == 0
    assert len(fz.false_absences(model, X, min_probability=1.0)) == 0
    assert len(fz.false_absences(model, X, n=0)) == 0
    with pytest.raises(ValueError, match="n=-3 is not a number of cells"):
        fz.false_absences(model, X, n=-3)


def test_explanations_come_in_the_order_asked_for(case):
    _, X, model = case
    causes = fz.explain(model, X, rows=["r1400", "r2", "r900"], columns="c3", n=1)
    assert causes["row"].tolist() == ["r1400", "r2", "r900"]
    with pytest.raises(ValueError, match="no column labelled 'c999'"):
        fz.explain(model, X, columns=["c999"])


OTHERS = [fz.NoisyOr, fz.BernoulliMixture, fz.BernoulliNMF, fz.LogisticPCA, fz.PLSA]


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("ask", [fz.false_absences, fz.false_presences, fz.expand])
def test_models_whose_cells_have_no_component_of_their_own_are_refused(kind, ask):
    X = np.eye(5)
    model = kind(2, random_state=0, tol=0.1).fit(X)
    with pytest.raises(TypeError, match=f"In {kind.__name__} a cell is not made by"):
        ask(model, X, keep=[1, 0])


def test_rows_can_be_dates_pairs_and_plain_lists():
    pd = pytest.importorskip("pandas")
    X = fz.datasets.make_aspect_bernoulli(6, 4, 2, random_state=0).table.to_numpy()
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(X)
    days = pd.date_range("2024-05-01", periods=6)
    pairs = pd.MultiIndex.from_product([["north", "south"], [1, 2, 3]])
    for index, label in ((days, days[4]), (pairs, "south / 2")):
        frame = pd.DataFrame(X, index=index)
        found = fz.explain(model, frame, rows=[index[4]], n=1)
        assert set(found["row"]) == {label}
        np.testing.assert_array_equal(found["value"], X[4])
    assert len(fz.explain(model, X.tolist(), rows=[4], n=1)) == 4
    twice = pd.DataFrame(X, index=["a", "b", "b", "c", "d", "e"])
    with pytest.raises(ValueError, match="2 rows are labelled 'b'"):
        fz.explain(model, twice, rows=["b"])


def test_the_best_few_are_the_best_of_all_whatever_the_tiles(case, monkeypatch):
    from falsezero.data import blocks

    _, X, model = case
    whole = fz.false_absences(model, X, min_probability=0.2).head(70)
    monkeypatch.setattr(blocks, "_tile_rows", lambda n_columns: 100)
    cut = fz.false_absences(model, X, min_probability=0.2, n=70)
    for one, other in zip(cut.to_rows(), whole.to_rows(), strict=True):
        # Matrix products of other sizes round otherwise.
        assert one["probability"] == pytest.approx(other["probability"], rel=1e-9)
        assert (one["row"], one["column"]) == (other["row"], other["column"])


def test_only_the_cells_asked_for_are_explained(case, monkeypatch):
    _, X, model = case
    seen = []
    original = type(model).cell_posterior

    def count(self, block, *more):
        seen.append(block.shape)
        return original(self, block, *more)

    monkeypatch.setattr(type(model), "cell_posterior", count)
    fz.explain(model, X, columns=["c7", "c3"], n=1)
    assert sum(rows * columns for rows, columns in seen) == 1500 * 2


def test_lists_too_long_to_keep_are_refused(case, monkeypatch):
    from falsezero.analysis import explain, gaps

    _, X, model = case
    monkeypatch.setattr(gaps, "_MOST", 100)
    with pytest.raises(ValueError, match=r"min_probability=0.3; raise it, or .* n="):
        fz.false_absences(model, X, min_probability=0.3)
    assert len(fz.false_absences(model, X, min_probability=0.3, n=101)) == 101
    monkeypatch.setattr(explain, "_MOST", 100)
    with pytest.raises(ValueError, match="3 strongest causes of 1500 x 120 cells"):
        fz.explain(model, X)


def test_a_table_in_files_is_read_a_block_at_a_time(tmp_path, monkeypatch):
    from falsezero.data import shards

    made = fz.datasets.make_aspect_bernoulli(60, 8, 2, random_state=0).table
    files = [tmp_path / f"{i}.npy" for i in range(3)]
    for i, file in enumerate(files):
        np.save(file, made.to_numpy()[20 * i : 20 * i + 20])
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(made)
    asked = {"keep": [1, 0], "min_probability": 0.1}
    whole = fz.false_absences(model, made, **asked)
    held, most = set(), 0
    original = shards._read

    def read(*args, **options):
        nonlocal most
        block = original(*args, **options)
        held.add(id(block))
        most = max(most, len(held))
        weakref.finalize(block, held.discard, id(block))
        return block

    monkeypatch.setattr(shards, "_read", read)
    found = fz.false_absences(model, fz.Shards(files), **asked)
    assert most <= 2, "all blocks were held at once"
    assert [(r["row"], r["column"]) for r in found.to_rows()] == [
        (r["row"], r["column"]) for r in whole.to_rows()
    ]


def test_a_cell_at_the_limit_is_listed(case):
    _, spoilt, model = case
    for ask in (fz.false_absences, fz.false_presences):
        every = ask(model, spoilt, min_probability=0.0, n=400)["probability"]
        unsure = every[every < 1]
        limit = float(unsure[len(unsure) // 2])
        found = ask(model, spoilt, min_probability=limit)["probability"]
        assert found.min() == limit
        above = ask(model, spoilt, min_probability=np.nextafter(limit, 1))["probability"]
        assert len(above) < len(found)
