"""Causes of cells, computed by hand from given weights and components."""

import numpy as np
import pytest
from tests.analysis.common import known_model

import falsezero as fz
from falsezero.analysis import explain as module

A = np.array([[0.9, 0.5, 0.0], [0.1, 0.5, 0.6]])
W = np.array([[0.8, 0.2], [0.5, 0.5]])
X = np.array([[1.0, 0.0, 1.0], [np.nan, 1.0, 0.0]])


@pytest.fixture
def model(monkeypatch):
    return known_model(X, W, A, monkeypatch)


def by_hand(row, column):
    made = A[:, column] if X[row, column] else 1 - A[:, column]
    return W[row] * made / (W[row] @ made)


def test_every_observed_cell_has_its_posterior(model):
    found = fz.explain(model, X, min_posterior=0.0)
    assert len(found) == 10, "five observed cells with two causes each"
    for entry in found.to_rows():
        expected = by_hand(entry["row"], entry["column"])
        assert entry["posterior"] == pytest.approx(expected[entry["component"]])
        assert entry["value"] == X[entry["row"], entry["column"]]
    first = found.to_rows()[0]
    assert (first["row"], first["column"], first["component"]) == (0, 0, 0)


def test_a_cause_at_the_limit_is_listed(model):
    # Row 1, column 1: both components make it alike, with posterior 1/2 each.
    found = fz.explain(model, X, rows=[1], columns=[1], min_posterior=0.5)
    assert found["posterior"].tolist() == [0.5, 0.5]
    assert len(fz.explain(model, X, rows=[1], columns=[1], min_posterior=0.51)) == 0


def test_at_most_n_causes_the_strongest_first(model):
    one = fz.explain(model, X, rows=[0], n=1, min_posterior=0.0)
    assert one["component"].tolist() == [0, 0, 1]
    two = fz.explain(model, X, rows=[0], columns=[0], n=2, min_posterior=0.0)
    assert two["posterior"][0] > two["posterior"][1]
    with pytest.raises(ValueError, match="n"):
        fz.explain(model, X, n=0)


def test_rows_come_as_asked_for(model):
    found = fz.explain(model, X, rows=[1, 0], columns=[2, 1], n=1)
    assert found["row"].tolist() == [1, 1, 0, 0]
    assert found["column"].tolist() == [2, 1, 2, 1]


def test_small_steps_give_the_same_list(model, monkeypatch):
    whole = fz.explain(model, X, min_posterior=0.0).to_rows()
    monkeypatch.setattr(module, "_CELLS", 1)
    assert fz.explain(model, X, min_posterior=0.0).to_rows() == whole


def test_a_list_of_the_longest_length_is_still_given(model, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 12)
    assert len(fz.explain(model, X, min_posterior=0.0)) == 10
    monkeypatch.setattr(module, "_MOST", 11)
    with pytest.raises(ValueError, match="2 strongest causes of 2 x 3 cells make too long a list"):
        fz.explain(model, X)
