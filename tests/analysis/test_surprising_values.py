"""Surprising zeros and ones, computed by hand from given weights and components."""

import numpy as np
import pytest
from tests.analysis.common import known_model

import falsezero as fz
from falsezero.analysis import gaps, surprising
from falsezero.data.blocks import Blocks

A = np.array([[0.75, 0.55, 0.01], [0.27, 0.55, 0.9]])
W = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [np.nan, 0.0, 0.0]])
EXPECTED = W @ A


@pytest.fixture
def model(monkeypatch):
    return known_model(X, W, A, monkeypatch)


def cells(found):
    return list(zip(found["row"].tolist(), found["column"].tolist(), strict=True))


def test_zeros_come_most_expected_first_the_limit_included(model):
    found = fz.surprising_zeros(model, X, keep=[1, 1])
    # 0.9, 0.75, twice 0.55, 0.51.
    assert cells(found)[:2] == [(2, 2), (0, 0)]
    assert sorted(cells(found)[2:4]) == [(0, 1), (2, 1)]
    assert cells(found)[4:] == [(1, 0)]
    np.testing.assert_allclose(found["expected"], [EXPECTED[cell] for cell in cells(found)])
    assert "noise" not in found.columns
    limit = float(found["expected"][1])
    assert len(fz.surprising_zeros(model, X, keep=[1, 1], min_expected=limit)) == 2
    above = np.nextafter(limit, 1)
    assert len(fz.surprising_zeros(model, X, keep=[1, 1], min_expected=above)) == 1
    assert cells(fz.surprising_zeros(model, X, keep=[1, 1], n=1)) == [(2, 2)]


def test_what_is_expected_leaves_removed_components_out(model):
    found = fz.surprising_zeros(model, X, keep=[1, 0], min_expected=0.6)
    by_cell = dict(zip(cells(found), found["noise"], strict=True))
    assert (1, 0) in by_cell, "by component 0 alone, 0.75"
    # W = (1/2, 1/2); component 1 makes this zero with 0.73, component 0 with 0.25.
    assert by_cell[1, 0] == pytest.approx(0.73 / 0.98)


def test_ones_are_compared_with_their_column(model):
    found = fz.surprising_ones(model, X, keep=[1, 1])
    # Column 2 has ones in two of three rows; row 0 expects 0.01, row 1 nearly one half.
    assert cells(found) == [(0, 2)]
    assert found["expected"][0] == pytest.approx(0.01)
    assert found["rate"][0] == pytest.approx(2 / 3)
    assert len(fz.surprising_ones(model, X, keep=[1, 1], n=0)) == 0


def test_rates_count_observed_cells(model):
    blocks = [block for block, _ in model.weights_by_block(X)]
    np.testing.assert_allclose(surprising._column_rates(blocks), [0, 1 / 3, 2 / 3])


def test_lists_too_long_need_a_number(model, monkeypatch):
    monkeypatch.setattr(gaps, "_MOST", 5)
    assert len(fz.surprising_zeros(model, X, keep=[1, 1])) == 5
    monkeypatch.setattr(gaps, "_MOST", 4)
    with pytest.raises(ValueError, match="More than 4 cells are listed by min_expected="):
        fz.surprising_zeros(model, X, keep=[1, 1])
    assert len(fz.surprising_zeros(model, X, keep=[1, 1], n=5)) == 5
    with pytest.raises(ValueError, match="n=-1 is not a number of cells"):
        fz.surprising_zeros(model, X, keep=[1, 1], n=-1)
    assert len(fz.surprising_zeros(model, X, keep=[1, 1], n=0)) == 0


def test_surprise_is_relative_for_ones():
    p, rates = np.array([0.8, 0.05, 0.9, 0.3]), np.array([0.5, 0.2, 0.5, 0.0])
    found = surprising.surprise(p, np.array([False, True, True, True]), rates)
    np.testing.assert_allclose(found, [0.8, 0.75, 0.0, 0.7])


def test_rows_are_counted_over_all_blocks(model, monkeypatch):
    twice, weights = np.vstack([X, X]), np.vstack([W, W])
    found = []
    for size in (6, 3):
        known = [(b, weights[b.rows]) for b in Blocks.cut(twice, block_rows=size)]
        monkeypatch.setattr(model, "weights_by_block", lambda table, known=known: known)
        found.append(fz.surprising_ones(model, twice, keep=[1, 1]))
        assert cells(found[-1]) == [(0, 2), (3, 2)]
    np.testing.assert_array_equal(found[0]["rate"], found[1]["rate"])
