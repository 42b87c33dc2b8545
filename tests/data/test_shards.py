"""A table in files is fitted as the same table in memory is, a few rows at a time."""

import weakref

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data import shards
from falsezero.data.blocks import Block
from falsezero.models.discrete_pca import mean_field

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SETTINGS = {"n_components": 3, "random_state": 0, "max_iter": 8, "tol": 0.0}


def dense(missing=0.1):
    rng = np.random.default_rng(0)
    table = (rng.random((1500, 300)) < rng.beta(1, 3, 300)).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    return table


def few_ones():
    rng = np.random.default_rng(1)
    table = sparse.random_array((2000, 700), density=0.02, rng=rng, format="csr")
    table.data[:] = np.where(rng.random(table.nnz) < 0.1, np.nan, 1.0)
    return table


def counts():
    table = few_ones()
    table.data[:] = 1 + np.arange(table.nnz) % 3
    return table


def in_files(table, folder, size):
    files = []
    for start in range(0, table.shape[0], size):
        rows = table[start : start + size]
        if sparse.issparse(rows):
            files.append(folder / f"{start}.npz")
            sparse.save_npz(files[-1], rows)
        else:
            files.append(folder / f"{start}.npy")
            np.save(files[-1], rows)
    return fz.Shards(files)


CASES = {
    "aspect": (fz.AspectBernoulli(**SETTINGS), dense()),
    "aspect, sparse": (fz.AspectBernoulli(solver="sparse", **SETTINGS), few_ones()),
    "ica": (fz.BinaryICA(solver="exact", **SETTINGS), dense()),
    "ica, sparse": (fz.BinaryICA(inference="vb", solver="sparse", **SETTINGS), few_ones()),
    "noisy-or": (fz.NoisyOr(**SETTINGS), few_ones()),
    "mixture": (fz.BernoulliMixture(**SETTINGS), dense()),
    "logistic": (fz.LogisticPCA(**SETTINGS), dense()),
    "plsa": (fz.PLSA(**SETTINGS), counts()),
    "unigram": (fz.UnigramMixture(**SETTINGS), counts()),
    "nmf": (fz.BernoulliNMF(**SETTINGS), dense()),
    "mean field": (fz.DiscretePCA(inference="mean_field", **SETTINGS), counts()),
    "em": (fz.DiscretePCA(inference="em", **SETTINGS), counts()),
}


@pytest.mark.parametrize("name", CASES)
def test_files_give_the_bits_of_the_table_cut_alike(name, tmp_path):
    model, table = CASES[name]
    model.fit(table)
    size = model._blocks(table, reset=False)[0].shape[0]
    expected, weights, score = model.components_, model.row_weights_, model.objective_
    files = in_files(table, tmp_path, size)
    assert files.shape == table.shape
    model.fit(files)
    np.testing.assert_array_equal(model.components_, expected, strict=True)
    np.testing.assert_array_equal(model.row_weights_, weights, strict=True)
    assert model.objective_ == score


def test_transform_takes_files(tmp_path):
    table = dense()
    model = fz.BinaryICA(**SETTINGS).fit(table)
    size = model._blocks(table, reset=False)[0].shape[0]
    np.testing.assert_array_equal(
        model.transform(in_files(table, tmp_path, size)), model.transform(table), strict=True
    )


def test_few_rows_are_in_memory_at_a_time(tmp_path, monkeypatch):
    alive, most = weakref.WeakSet(), [0]
    plain = shards._read

    class Counted(Block):
        __hash__ = object.__hash__

    def counting(*arguments, **named):
        block = plain(*arguments, **named)
        counted = Counted(block.start, block.values, block.missing)
        alive.add(counted)
        most[0] = max(most[0], len(alive))
        return counted

    monkeypatch.setattr(shards, "_read", counting)
    fz.AspectBernoulli(**SETTINGS).fit(in_files(dense(), tmp_path, 100))
    assert 0 < most[0] <= 2


def test_values_are_checked_as_they_are_read(tmp_path):
    table = dense()
    table[1400, 7] = 3.0
    files = in_files(table, tmp_path, 500)
    with pytest.raises(ValueError, match=r"AspectBernoulli needs zeros and ones.*found 3"):
        fz.AspectBernoulli(**SETTINGS).fit(files)
    fz.AspectBernoulli(binarize=0.0, **SETTINGS).fit(files)


def test_other_columns_than_fitted_are_refused(tmp_path):
    model = fz.AspectBernoulli(**SETTINGS).fit(dense())
    with pytest.raises(ValueError, match="20 features"):
        model.transform(in_files(dense()[:, :20], tmp_path, 500))


def test_files_that_do_not_fit_together_are_named(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "b.npy", np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"b\.npy has 4 columns, but .*a\.npy has 3"):
        fz.Shards([tmp_path / "a.npy", tmp_path / "b.npy"])


@pytest.mark.parametrize("content", [np.arange(3), np.empty((0, 3))])
def test_a_file_without_a_table_is_named(content, tmp_path):
    np.save(tmp_path / "a.npy", content)
    with pytest.raises(ValueError, match=r"a\.npy holds no table"):
        fz.Shards([tmp_path / "a.npy"])


def test_an_archive_of_something_else_is_named(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2))
    with pytest.raises(ValueError, match=r"a\.npz holds no table"):
        fz.Shards([tmp_path / "a.npz"])


def test_no_files_are_refused():
    with pytest.raises(ValueError, match="at least one file"):
        fz.Shards([])


def test_components_begin_from_some_files_of_many(tmp_path, monkeypatch):
    model = fz.DiscretePCA(3, inference="mean_field", max_iter=60, random_state=0)
    whole = model.fit(counts()).objective_
    monkeypatch.setattr(mean_field, "_START_ENTRIES", 500)
    files = in_files(counts(), tmp_path, 100)
    assert model.fit(files).objective_ > whole - 0.01 * abs(whole)


@pytest.mark.parametrize(
    "model", [fz.DiscretePCA(inference="gibbs"), fz.BinaryMatrixFactorization()]
)
def test_a_model_that_needs_all_rows_says_so(model, tmp_path):
    files = in_files(few_ones(), tmp_path, 1000)
    with pytest.raises(TypeError, match=r"needs the whole table in memory.*Shards\(2 files"):
        model.fit(files)


@pytest.fixture(scope="module")
def in_parquet(tmp_path_factory):
    """One table three times: dense, wide Parquet files, and long ones."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("parquet")
    table = (np.random.default_rng(0).random((120, 15)) < 0.3).astype(float)
    table[np.arange(120), np.arange(120) % 15] = 1
    wide, long = [], []
    for i, part in enumerate((table[:50], table[50:])):
        rows, columns = part.nonzero()
        wide.append(folder / f"wide{i}.parquet")
        pq.write_table(pa.table({f"c{j:02}": part[:, j] for j in range(15)}), wide[-1])
        long.append(folder / f"long{i}.parquet")
        fields = {"site": [f"{i}-{r}" for r in rows], "kind": [f"c{c:02}" for c in columns]}
        pq.write_table(pa.table(fields), long[-1])
    return table, wide, long


def blocks_of(shards):
    parts = [block.csr.toarray() for block in shards.blocks(lambda values: values)]
    return np.concatenate(parts)


def test_wide_and_long_parquet_files_hold_the_same_table(in_parquet):
    table, wide, long = in_parquet
    np.testing.assert_array_equal(blocks_of(fz.Shards(wide)), table)
    listed = fz.Shards(long, row="site", column="kind")
    assert listed.shape == (120, 15)
    order = np.argsort(listed.columns)
    np.testing.assert_array_equal(blocks_of(listed)[:, order], table)


def test_a_model_is_fitted_to_parquet_files(in_parquet):
    table, wide, _ = in_parquet
    model = fz.AspectBernoulli(2, random_state=0, max_iter=10, tol=1e-3)
    here = model.fit(table).components_
    np.testing.assert_allclose(model.fit(fz.Shards(wide)).components_, here, rtol=1e-4)


def test_addresses_are_opened_by_fsspec(in_parquet):
    fsspec = pytest.importorskip("fsspec")
    table, wide, _ = in_parquet
    for i, file in enumerate(wide):
        with fsspec.open(f"memory://shards/{i}.parquet", "wb") as stream:
            stream.write(file.read_bytes())
    with fsspec.open("memory://shards/2.npy", "wb") as stream:
        np.save(stream, table[:7])
    shards = fz.Shards([f"memory://shards/{i}" for i in ("0.parquet", "1.parquet", "2.npy")])
    np.testing.assert_array_equal(blocks_of(shards), np.concatenate([table, table[:7]]))


def test_long_lists_are_refused_where_rows_are_torn_or_fields_unknown(in_parquet):
    _, _, long = in_parquet
    with pytest.raises(ValueError, match=r"Row '0-0' is in .* and in .*one file"):
        fz.Shards([long[0], long[0]], row="site", column="kind")
    with pytest.raises(ValueError, match="has no column 'place'; it has site, kind"):
        fz.Shards(long, row="place", column="kind")
    with pytest.raises(ValueError, match="both row= and column="):
        fz.Shards(long, row="site")
