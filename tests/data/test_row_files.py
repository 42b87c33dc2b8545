"""Row quantities in files: a fit holds names, the files hold the rows."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data.row_files import Kept, RowFiles, opened, put
from falsezero.inference.checkpoint import Checkpoint
from falsezero.models.convex.sparse import SparseRows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def some_rows():
    return SparseRows(np.eye(3, dtype=np.float32), np.arange(4), np.arange(3, dtype=np.int32), 5)


def test_rows_come_back_as_they_were(tmp_path):
    (name,) = RowFiles(str(tmp_path)).new_names(1)
    found = pickle.loads(pickle.dumps(put(some_rows(), name))).open()
    assert isinstance(found, SparseRows)
    assert found.clock == 5
    for ours, theirs in zip(found[:3], some_rows()[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)


def test_a_file_goes_with_its_owner_and_not_with_a_copy(tmp_path):
    files = RowFiles(str(tmp_path))
    (kept,) = files.own([put(some_rows(), *files.new_names(1))])
    copy = pickle.loads(pickle.dumps(kept))
    del copy
    assert opened(kept).clock == 5
    kept.is_pinned = True
    path = kept.path
    del kept
    assert Kept(path).open().clock == 5
    (kept,) = files.own([Kept(path)])
    del kept
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_refused(tmp_path):
    np.savez(tmp_path / "rows.npz", kind=np.array("os:system"))
    with pytest.raises(ValueError, match="not written by falsezero"):
        Kept(str(tmp_path / "rows.npz")).open()


def in_files(folder, x, parts=5):
    folder.mkdir(exist_ok=True)
    files = []
    for i, rows in enumerate(np.array_split(np.arange(x.shape[0]), parts)):
        files.append(folder / f"{i}.npz")
        sparse.save_npz(files[-1], x[rows])
    return files


def table(n_rows=900):
    drawn = fz.datasets.make_sparse_aspect_bernoulli(n_rows, 150, 3, ones_per_row=8, random_state=0)
    return sparse.csr_array(drawn.values, dtype=float)


MODEL = {"n_components": 3, "prior": 0, "solver": "sparse", "random_state": 0, "tol": 0.0}


def test_a_fit_leaves_its_rows_in_files_and_climbs_as_high(tmp_path):
    x = table()
    files = in_files(tmp_path / "table", x)
    here = fz.AspectBernoulli(max_iter=60, n_init=3, **MODEL).fit(fz.Shards(files))
    shards = fz.Shards(files, weights=tmp_path / "rows")
    there = fz.AspectBernoulli(max_iter=60, n_init=3, **MODEL).fit(shards)
    objectives = [row["objective"] for row in there.history_ if not row["rebased"]]
    assert np.all(np.diff(objectives[10:]) >= -1e-9 * abs(objectives[-1]))
    assert there.log_likelihood_ > here.log_likelihood_ - 0.01 * abs(here.log_likelihood_)
    assert "row_weights_" not in vars(there)
    assert len(there.weight_files_) == len(files)
    left = sorted(str(path) for path in (tmp_path / "rows").iterdir())
    assert left == sorted(there.weight_files_)
    np.testing.assert_allclose(there.row_weights_.sum(axis=1), 1, atol=1e-9)
    expected = there.row_weights_ @ there.components_
    by_cell = np.log(np.where(x.toarray() == 1, expected, 1 - expected)).sum()
    assert abs(by_cell - there.log_likelihood_) <= there.log_likelihood_error_ + 1e-6 * abs(by_cell)


@pytest.mark.parametrize("solver", ["exact", "sparse"])
def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path, monkeypatch, solver):
    files = in_files(tmp_path / "table", table(300), 3)
    shards = fz.Shards(files, weights=tmp_path / "rows")
    model = fz.AspectBernoulli(max_iter=14, **MODEL | {"solver": solver})
    whole = model.fit(shards)
    weights, components = whole.row_weights_.copy(), whole.components_.copy()
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", (0.0,))

    def die(line):
        if line["iteration"] == 9:
            raise KeyboardInterrupt

    model.set_params(checkpoint=tmp_path / "fit", callback=die)
    with pytest.raises(KeyboardInterrupt):
        model.fit(shards)
    again = model.set_params(callback=None).fit(shards)
    np.testing.assert_array_equal(again.components_, components)
    np.testing.assert_array_equal(again.row_weights_, weights)


def test_models_that_gather_their_rows_take_the_folder_too(tmp_path):
    files = in_files(tmp_path / "table", table(200), 2)
    shards = fz.Shards(files, weights=tmp_path / "rows")
    model = fz.LogisticPCA(2, max_iter=9, tol=0.0, random_state=0)
    here = model.fit(fz.Shards(files)).row_weights_.copy()
    np.testing.assert_array_equal(model.fit(shards).row_weights_, here)
    assert list((tmp_path / "rows").iterdir()) == []
