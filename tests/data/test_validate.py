"""What an estimator accepts, what it refuses, and in which words."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data.validate import check_table, check_values, labels_of

HALF = np.array([[0.0, 0.5], [1.0, np.nan]])


@pytest.mark.parametrize(
    ("kind", "bad", "words"),
    [
        ("binary", 2.0, "M needs zeros and ones, NaN for cells not observed, but found 2"),
        ("count", 0.5, "M needs counts .* but found 0.5; round them"),
        ("count", -1.0, "Negative values in data: M needs counts"),
        ("weight", -0.5, "Negative values in data: M needs numbers from zero up"),
        ("real", np.inf, "M needs finite numbers"),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values_that_a_model_cannot_mean(kind, bad, words, container):
    with pytest.raises(ValueError, match=words):
        check_values(container(np.array([[1.0, bad]])), kind, None, "M")


@pytest.mark.parametrize(
    ("kind", "good"), [("binary", 1.0), ("count", 3.0), ("weight", 0.5), ("real", -2.5)]
)
def test_values_that_it_can(kind, good):
    values = np.array([[0.0, good, np.nan]])
    np.testing.assert_array_equal(check_values(values, kind, None, "M"), values)


def test_a_threshold_is_for_zeros_and_ones_only():
    np.testing.assert_array_equal(check_values(HALF, "binary", 0.5, "M"), [[0, 0], [1, np.nan]])
    np.testing.assert_array_equal(check_values(HALF, "binary", 0.4, "M"), [[0, 1], [1, np.nan]])
    np.testing.assert_array_equal(check_values(HALF, "weight", 0.4, "M"), HALF)


def test_stored_zeros_are_dropped_and_stored_nan_is_kept():
    stored = sparse.csr_array(([0.0, np.nan, 1.0], [2, 1, 0], [0, 3]), shape=(1, 3))
    found = check_values(stored, "binary", None, "M")
    np.testing.assert_array_equal(found.indices, [0, 1])
    np.testing.assert_array_equal(found.data, [1.0, np.nan])


def test_names_are_kept_and_compared():
    named = fz.Table(np.eye(3), columns=["a", "b", "c"])
    model = fz.BernoulliMixture(1).fit(named)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    turned = named.select(columns=["b", "a", "c"])
    with pytest.raises(ValueError, match=r"was fitted on \(the same in another order\)"):
        check_table(model, turned, reset=False)
    with pytest.raises(ValueError, match="such as 'd'"):
        check_table(model, fz.Table(np.eye(3), columns=["a", "b", "d"]), reset=False)
    numbered = fz.Table(np.eye(3))
    found = check_table(model, numbered, reset=False)
    np.testing.assert_array_equal(found.toarray(), np.eye(3))


def test_an_array_takes_the_labels_of_the_fit():
    model = fz.BernoulliMixture(1).fit(fz.Table(np.eye(2), columns=["a", "b"]))
    for given in (np.eye(2), np.eye(2).tolist(), fz.Table(np.eye(2))):
        rows, columns = labels_of(model, given)
        assert rows.tolist() == [0, 1]
        assert columns.tolist() == ["a", "b"]
