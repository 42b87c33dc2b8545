"""Every door honours gaps: one table in every container, through every model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.models import REGISTRY, model_class

X = np.random.default_rng(0).integers(0, 2, (14, 6)).astype(float)
X[[0, 3, 3, 9], [1, 0, 5, 2]] = np.nan
GAPS = np.isnan(X)
ROWS = [f"site {i}" for i in range(len(X))]
COLUMNS = [f"genus {t}" for t in range(X.shape[1])]
LISTED = [[None if np.isnan(v) else int(v) for v in column] for column in X.T]


def masked(values=0.0):
    """What lies under a mask must not matter."""
    return np.ma.array(np.where(GAPS, values, X), mask=GAPS)


def stored_nan(kind=sparse.csr_array):
    stored = sparse.csr_array(np.where(X == 0, 0.0, 1.0))
    stored.data = X[X != 0]
    return kind(stored)


def pandas(dtype=None):
    frame = pd.DataFrame(X, columns=COLUMNS)
    return frame if dtype is None else frame.astype(dtype)


def arrow(kind="int64"):
    pa = pytest.importorskip("pyarrow")
    column = [pa.array(c, pa.int64()).cast(kind) for c in LISTED]
    return pa.table(dict(zip(COLUMNS, column, strict=True)))


def polars():
    return pytest.importorskip("polars").DataFrame(dict(zip(COLUMNS, LISTED, strict=True)))


def xarray():
    return pytest.importorskip("xarray").DataArray(X, {"site": ROWS, "genus": COLUMNS})


def annotated(values):
    return pytest.importorskip("anndata").AnnData(
        values, pd.DataFrame(index=ROWS), pd.DataFrame(index=COLUMNS)
    )


def graph():
    network = pytest.importorskip("networkx").Graph()
    network.add_nodes_from(ROWS, bipartite=0)
    network.add_nodes_from(COLUMNS, bipartite=1)
    network.add_edges_from((ROWS[i], COLUMNS[t]) for i, t in np.argwhere(X == 1))
    return network


CONTAINERS = {
    "list": lambda: X.tolist(),
    "Table": lambda: fz.Table(X, ROWS, COLUMNS),
    "masked": masked,
    "masked ones": lambda: masked(1.0),
    "masked nonsense": lambda: masked(-1e300),
    "masked integers": lambda: masked(7).astype(int),
    "list of masked rows": lambda: list(masked()),
    "csr": stored_nan,
    "csc": lambda: stored_nan(sparse.csc_matrix),
    "coo": lambda: stored_nan(sparse.coo_array),
    "lil": lambda: stored_nan(sparse.lil_array),
    "bsr": lambda: sparse.bsr_array(stored_nan(), blocksize=(2, 3)),
    "pandas": pandas,
    "pandas Int64": lambda: pandas("Int64"),
    "pandas boolean": lambda: pandas("boolean"),
    "pandas objects": lambda: pandas("Int64").astype(object),
    "pandas sparse": lambda: pandas(pd.SparseDtype(float)),
    "pandas with labels": lambda: pandas().assign(site=ROWS)[["site", *COLUMNS]],
    "polars": polars,
    "pyarrow": arrow,
    "pyarrow booleans": lambda: arrow("bool"),
    "xarray": xarray,
    "AnnData": lambda: annotated(X),
    "sparse AnnData": lambda: annotated(stored_nan(sparse.csr_matrix)),
}
SMALL = {"n_components": 2, "max_iter": 4, "n_row_features": 2, "n_column_features": 2}
SMALL |= {"n_chains": 1, "warmup": 2, "n_draws": 2, "random_state": 0}


def answer(name, table):
    """What a small fit says of the table, or that it refuses tables with gaps."""
    kind = model_class(name)
    model = kind(**{key: value for key, value in SMALL.items() if key in kind().get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(model.fit(table).reconstruct(table), dtype=float)
        except ValueError as refusal:
            if not any(word in str(refusal) for word in ("not observed", "NaN")):
                raise
            return np.zeros(0)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_gap_is_a_gap_in_every_container(name):
    expected = answer(name, X)
    for container, build in CONTAINERS.items():
        found = answer(name, build())
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=container)


@pytest.mark.parametrize("name", REGISTRY)
def test_graphs_go_straight_into_a_model(name):
    np.testing.assert_allclose(
        answer(name, graph()), answer(name, np.nan_to_num(X)), atol=1e-6, err_msg=name
    )


@pytest.mark.parametrize("container", ["pyarrow", "polars", "xarray", "AnnData"])
def test_labels_come_along(container):
    table = CONTAINERS[container]()
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    assert model.feature_names_in_.tolist() == COLUMNS
    found = fz.false_absences(model, table)
    assert set(found["column"]) <= set(COLUMNS)
    assert set(fz.explain(model, table)["column"]) <= set(COLUMNS)
    if container in ("xarray", "AnnData"):
        assert set(fz.explain(model, table)["row"]) <= set(ROWS)
    assert fz.denoise(model, table).columns.tolist() == COLUMNS


def broken(kind):
    """Sparse matrices whose indices point outside, or whose pointers fall."""
    good = stored_nan()
    if kind == "coo":
        bad = good.tocoo()
        bad.coords[1][0] = 10**6
        return bad
    bad = good.copy() if kind != "csc" else good.tocsc()
    if kind in ("csr", "csc"):
        bad.indices[0] = 10**6
    elif kind == "negative":
        bad.indices[0] = -3
    elif kind == "falling":
        bad.indptr[3] = bad.indptr[5] + 1
    elif kind == "beyond":
        bad.indptr[-1] = 10**6
    return bad


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "negative", "falling", "beyond"])
def test_indices_outside_a_sparse_matrix_are_refused(kind, tmp_path):
    for take in (fz.Table, fz.as_table, fz.AspectBernoulli(2).fit, fz.Beals().fit):
        with pytest.raises(DataError, match="The sparse matrix is damaged"):
            take(broken(kind))
    h5py = pytest.importorskip("h5py")
    if kind in ("csr", "negative", "falling", "beyond"):
        annotated(stored_nan(sparse.csr_matrix)).write_h5ad(tmp_path / "t.h5ad")
        bad = broken(kind)
        with h5py.File(tmp_path / "t.h5ad", "r+") as file:
            file["X/indices"][:] = bad.indices
            file["X/indptr"][:] = bad.indptr
        with pytest.raises(DataError, match="damaged"):
            fz.read(tmp_path / "t.h5ad")


def test_stale_flags_of_a_sparse_matrix_are_not_believed():
    matrix = sparse.csr_array(np.array([[0.0, 1, 1], [1, 0, 0]]))
    assert matrix.has_canonical_format
    matrix.indices[:2] = [2, 1]
    assert fz.Table(matrix).values.indices.tolist() == [1, 2, 0]


def test_infinite_values_of_both_signs_are_refused_without_a_warning():
    X = sparse.csr_array(np.array([[np.inf, 0.0], [-np.inf, 1.0]]))
    with pytest.raises(ValueError, match="infinity"):
        fz.AspectBernoulli(1).fit(X)
