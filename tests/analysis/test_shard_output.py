"""Row weights and best zeros of a table in files, file by file."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.analysis.best_cells import best_zeros
from falsezero.analysis.shard_output import transform_to_parquet, zeros_to_parquet

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table():
    return fz.datasets.make_aspect_bernoulli(120, 15, 3, random_state=0).table.to_numpy()


@pytest.fixture
def shards(table, tmp_path):
    files = []
    for i in range(3):
        files.append(tmp_path / f"{i}.npz")
        sparse.save_npz(files[-1], sparse.csr_array(table[40 * i : 40 * (i + 1)]))
    return fz.Shards(files)


@pytest.fixture(scope="module")
def model(table):
    return fz.AspectBernoulli(3, prior=0.5, random_state=0).fit(table)


def test_weights_are_those_of_the_whole_table(model, table, shards, tmp_path):
    files = transform_to_parquet(model, shards, tmp_path / "out")
    assert len(files) == 3
    found = pd.concat([pd.read_parquet(file) for file in files])
    assert found["row"].tolist() == list(range(120))
    assert found.columns.tolist()[1:] == model.get_feature_names_out().tolist()
    np.testing.assert_allclose(found.to_numpy()[:, 1:], model.transform(table), atol=1e-5)


def test_the_model_keeps_its_rows(model, shards, tmp_path):
    before = model.row_weights_
    transform_to_parquet(model, shards, tmp_path)
    assert model.row_weights_ is before


@pytest.mark.parametrize("n", [7, 5000])
def test_zeros_are_the_best_of_all_files(model, table, shards, tmp_path, n):
    path = tmp_path / "zeros.parquet"
    written = zeros_to_parquet(model, shards, path, n=n)
    found = pd.read_parquet(path)
    weights = model.transform(table)
    expected = best_zeros(weights, model.components_, sparse.csr_array(table), n)
    assert written == len(found) == len(expected.rows) == min(n, int((table == 0).sum()))
    np.testing.assert_allclose(found["expected"], expected.scores, atol=1e-5)
    p = weights @ model.components_
    np.testing.assert_allclose(p[found["row"], found["column"]], found["expected"], atol=1e-5)
    assert (table[found["row"], found["column"]] == 0).all()


def test_long_lists_keep_their_labels(tmp_path):
    rng = np.random.default_rng(0)
    ones = rng.random((40, 6)) < [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]
    files = []
    for i, rows in enumerate((range(20), range(20, 40))):
        pairs = [(f"site {r}", f"kind {c}") for r in rows for c in np.flatnonzero(ones[r])]
        files.append(tmp_path / f"{i}.parquet")
        pd.DataFrame(pairs, columns=["site", "kind"]).to_parquet(files[-1])
    shards = fz.Shards(files, row="site", column="kind")
    model = fz.AspectBernoulli(2, random_state=0).fit(shards)
    weights = pd.concat(map(pd.read_parquet, transform_to_parquet(model, shards, tmp_path)))
    assert weights["row"].str.startswith("site ").all()
    zeros_to_parquet(model, shards, tmp_path / "zeros.parquet", n=5)
    zeros = pd.read_parquet(tmp_path / "zeros.parquet")
    cells = [(int(r[5:]), int(c[5:])) for r, c in zip(zeros["row"], zeros["column"], strict=True)]
    assert not any(ones[cell] for cell in cells)
    assert zeros["expected"].is_monotonic_decreasing


def test_models_without_probabilities_are_refused(table, shards, tmp_path):
    model = fz.LogisticPCA(2, max_iter=5, tol=1e-2).fit(table)
    with pytest.raises(fz.DataError, match="no components that are probabilities"):
        zeros_to_parquet(model, shards, tmp_path / "zeros.parquet")
    assert len(transform_to_parquet(model, shards, tmp_path)) == 3


def test_workers_write_the_same_bytes(model, shards, tmp_path):
    distributed = pytest.importorskip("distributed")
    here = transform_to_parquet(model, shards, tmp_path / "here")
    options = {"n_workers": 2, "processes": False, "dashboard_address": ":0"}
    with distributed.Client(**options) as client, fz.on_dask(client):
        there = transform_to_parquet(model, shards, tmp_path / "there")
    for a, b in zip(here, there, strict=True):
        pd.testing.assert_frame_equal(pd.read_parquet(a), pd.read_parquet(b), check_exact=True)
