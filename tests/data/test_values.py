"""One rule for thresholds, whoever applies it and however the table is stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import falsezero as fz
from falsezero.data import values
from falsezero.data.validate import check_table
from falsezero.data.values import binarized, is_unfit

numbers = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0, np.nan])


@given(arrays(float, (3, 4), elements=numbers), st.sampled_from([-3.0, -1.0, 0.0, 0.7, 2.0]))
def test_a_threshold_means_the_same_at_every_door(X, threshold):
    expected = np.where(np.isnan(X), np.nan, threshold < X)
    np.testing.assert_array_equal(fz.as_table(X, binarize=threshold).to_numpy(), expected)
    for table in (X, sparse.csr_array(X)):
        model = fz.AspectBernoulli(binarize=threshold)
        checked = check_table(model, table, binarize=threshold)
        dense = checked.toarray() if sparse.issparse(checked) else checked
        np.testing.assert_array_equal(dense, expected)


def test_a_sparse_table_whose_zeros_become_ones_must_fit_into_memory(monkeypatch):
    monkeypatch.setattr(values, "_MOST_DENSE", 8)
    with pytest.raises(ValueError, match=r"binarize=-1 would make a one of every zero .* 3 x 3"):
        binarized(sparse.eye_array(3), -1)


def test_single_precision_stays_single():
    assert binarized(np.array([0.2, np.nan], dtype=np.float32), 0.1).dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "unfit"),
    [
        ("binary", [0.5, 2.0, -1.0, np.inf]),
        ("count", [0.5, -1.0, np.inf]),
        ("weight", [-1.0, np.inf]),
        ("real", [np.inf]),
    ],
)
def test_what_a_cell_may_hold(kind, unfit):
    data = np.array([0.0, 1.0, 0.5, 2.0, -1.0, np.inf, np.nan])
    assert data[is_unfit(data, kind)].tolist() == unfit
