"""Calibration from revisits, lists with controlled errors, and plans."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.audit.calibration import calibration_error
from falsezero.audit.selection import conformal_selection
from falsezero.data.errors import DataError


def two_visits(seed=0, n_rows=300, n_columns=20):
    """Probabilities of a one that differ by cell, and two looks that miss half."""
    rng = np.random.default_rng(seed)
    content = rng.beta(0.6, 1.0, (n_rows, n_columns))
    there = rng.random(content.shape) < content
    looks = [there & (rng.random(there.shape) < 0.5) for _ in range(2)]
    labels = [f"site {i}" for i in range(n_rows)], [f"bird {i}" for i in range(n_columns)]
    return content, fz.Table(looks[0], *labels), fz.Table(looks[1], *labels)


@pytest.fixture(scope="module")
def calibrated():
    content, first, second = two_visits()
    audit = fz.audit(first, probabilities=0.5 * content)
    return fz.calibrate(audit, revisits=second.select(rows=list(range(80)))), second


def test_probabilities_are_calibrated(calibrated):
    audit, second = calibrated
    zero = audit.table.to_numpy() == 0
    zero[:80] = False
    predicted, seen = audit.again.to_numpy()[zero], second.to_numpy()[zero]
    assert calibration_error(predicted, seen) < 0.03
    assert calibration_error(audit.expected.to_numpy()[zero], seen) > 0.04


def test_selection_keeps_its_target():
    shares = []
    for seed in range(10):
        content, first, second = two_visits(seed)
        audit = fz.audit(first, probabilities=0.5 * content)
        chosen = fz.calibrate(audit, revisits=second.select(rows=list(range(60)))).select(0.6)
        seen = second.to_numpy()
        hits = [
            seen[first.row(r), first.column(c)]
            for r, c in zip(chosen["row"], chosen["column"], strict=True)
        ]
        assert not any(first.row(r) < 60 for r in chosen["row"])
        shares.append(1 - np.mean(hits) if hits else 0.0)
    assert 0.3 < np.mean(shares) <= 0.62


def test_conformal_p_values_by_hand():
    """p-values are 1/4 and 3/4; Benjamini and Hochberg compare them with 0.3 and 0.6."""
    chosen = conformal_selection(
        np.array([0.9, 0.1]), np.array([0.6, 0.7, 0.2]), np.array([True, False, False]), 0.6
    )
    assert chosen.tolist() == [True, False]


@pytest.mark.parametrize(("by", "key"), [("rows", "row"), ("columns", "column"), ("cells", "row")])
def test_plan_counts_expected_finds(calibrated, by, key):
    audit, second = calibrated
    plan = audit.plan(5, by)
    assert len(plan) == 5
    assert (np.diff(plan["new_finds"]) <= 0).all()
    assert plan["so_far"][-1] == pytest.approx(plan["new_finds"].sum())
    if by == "rows":
        assert all(audit.table.row(label) >= 80 for label in plan[key])
        found = [
            (second.to_numpy()[i] * (audit.table.to_numpy()[i] == 0)).sum()
            for i in map(audit.table.row, plan["row"])
        ]
        assert sum(found) == pytest.approx(plan["so_far"][-1], rel=0.5)
    assert plan.to_csv().startswith(key)


def test_reliability_is_a_picture_in_numbers(calibrated):
    audit, _ = calibrated
    table = audit.calibration.reliability
    assert table.columns == ["predicted", "observed", "cells"]
    assert np.corrcoef(table["predicted"], table["observed"])[0, 1] > 0.9
    assert "were looked at again" in audit.summary


def test_reliability_is_drawn_with_the_diagonal(calibrated):
    audit, _ = calibrated
    display = fz.plot.ReliabilityDisplay.from_audit(audit)
    table = audit.calibration.reliability
    np.testing.assert_array_equal(display.ax_.lines[0].get_xydata(), [[0, 0], [1, 1]])
    points = np.column_stack([table["predicted"], table["observed"]])
    np.testing.assert_allclose(display.ax_.lines[1].get_xydata(), points)
    assert points.max() < display.ax_.get_xlim()[1] <= 1
    display.close()
    content, first, _ = two_visits()
    with pytest.raises(DataError, match="not calibrated"):
        fz.plot.ReliabilityDisplay.from_audit(fz.audit(first, probabilities=content))


def test_revisits_with_other_labels_are_refused():
    content, first, second = two_visits()
    audit = fz.audit(first, probabilities=0.5 * content)
    other = fz.Table(second.values, [f"place {i}" for i in range(300)], second.columns)
    with pytest.raises(DataError, match="'place 0'"):
        fz.calibrate(audit, revisits=other)
    with pytest.raises(DataError, match="at least 5 rows"):
        fz.calibrate(audit, revisits=second.select(rows=[0, 1]))


def test_selection_and_plan_need_something_to_go_by():
    content, first, _ = two_visits()
    audit = fz.audit(first, probabilities=0.5 * content)
    with pytest.raises(DataError, match="needs revisits"):
        audit.select(0.3)
    with pytest.raises(DataError, match="nothing identifies"):
        audit.plan(5)
    stated = fz.audit(first, probabilities=0.5 * content, loss=0.5)
    assert len(stated.plan(5, "cells")) == 5
    with pytest.raises(DataError, match="rows"):
        stated.plan(5, "sites")
