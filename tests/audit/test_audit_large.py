"""An audit by bounded search and samples says what a visit to every cell says."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.audit import large as survey
from falsezero.audit.cells import survey_cells
from falsezero.models.average import large


@pytest.fixture(scope="module")
def table():
    clean = fz.datasets.make_aspect_bernoulli(300, 30, 3, random_state=1).table
    return fz.corrupt(clean, omit=0.3, random_state=0)


@pytest.fixture(scope="module")
def make(table):
    patch = pytest.MonkeyPatch()
    patch.setattr(large, "LARGE", 1000)
    patch.setattr(survey, "_ROWS_AT_A_TIME", 128)
    patch.setattr(survey, "_PER_ROW", 200)
    yield lambda **options: fz.audit(table, random_state=0, **options)
    patch.undo()


@pytest.fixture(scope="module")
def plain(make):
    return make()


def every_cell(audit, known=None):
    return survey_cells(audit.table, audit.expected, known, audit.certain)


def test_the_list_is_that_of_a_visit_to_every_cell(plain):
    assert plain._cell_odds is not None
    found, expected = plain._survey, every_cell(plain)
    assert len(expected.rows) > 5
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_allclose(found.expected, expected.expected, atol=1e-4)
    np.testing.assert_array_equal(found.row_surprising, expected.row_surprising)
    np.testing.assert_array_equal(found.column_surprising, expected.column_surprising)


def test_sums_over_zeros_are_near(plain):
    found, expected = plain._survey, every_cell(plain)
    np.testing.assert_allclose(found.column_expected, expected.column_expected, rtol=0.2, atol=1)
    off = found.row_expected / expected.row_expected - 1
    assert np.sqrt(np.mean(off**2)) < 0.1
    assert abs(off.mean()) < 0.015
    assert found.row_expected.sum() == pytest.approx(expected.row_expected.sum(), rel=0.01)
    assert np.isnan(found.row_present).all()


def test_the_tables_and_words_are_there(plain):
    assert plain.zeros.columns == ["row", "column", "expected", "why"]
    assert len(plain.rows) == 300
    assert {"hidden", "came_back"} <= set(plain.columns.columns)
    assert "surprising" in plain.summary
    assert plain.trial.beats_popularity
    assert plain.trial.n_hidden == pytest.approx(0.1 * plain.table.n_ones, rel=0.2)


def test_a_stated_loss_orders_and_counts(make):
    audit = make(loss=0.3)
    expected = every_cell(audit, audit.present)
    assert audit._survey.row_present.sum() == pytest.approx(expected.row_present.sum(), rel=0.02)
    np.testing.assert_array_equal(audit._survey.rows, expected.rows)
    zeros = audit.zeros
    at = int(audit.table.row(zeros["row"][0])), int(audit.table.column(zeros["column"][0]))
    assert zeros["present"][0] == pytest.approx(audit.present.of_rows(np.array([at[0]]))[0, at[1]])
    assert zeros["again"][0] == pytest.approx(0.7 * zeros["present"][0])


def test_rates_that_are_too_low_are_told(make):
    audit = make(loss=0.8)
    cells = [
        ((p > 0.2) & (audit.table.values[rows].toarray() == 0)).sum()
        for rows, p in audit.expected.blocks()
    ]
    zeros = audit.table.shape[0] * audit.table.shape[1] - audit.table.n_ones
    assert audit._contradicted == pytest.approx(sum(cells) / zeros, rel=0.1)


def test_certain_cells_leave_the_list(make, plain):
    first = plain.zeros
    sure = [(first["row"][0], first["column"][0])]
    audit = make(certain=sure, loss=0.3)
    listed = set(zip(audit.zeros["row"], audit.zeros["column"], strict=True))
    assert sure[0] not in listed
    at = np.array([audit.table.row(sure[0][0])]), np.array([audit.table.column(sure[0][1])])
    assert audit.present.at(*at)[0] == 0


def test_revisits_calibrate_it(plain, table):
    rows = list(range(60))
    clean = fz.datasets.make_aspect_bernoulli(300, 30, 3, random_state=1).table
    again = fz.corrupt(clean, omit=0.3, random_state=5).select(rows=rows)
    audit = fz.calibrate(plain, revisits=again)
    cells = np.array([3, 70]), np.array([4, 5])
    by_row = [audit.again.of_rows(cells[0][[i]])[0, cells[1][i]] for i in range(2)]
    np.testing.assert_allclose(audit.again.at(*cells), by_row, rtol=1e-3)
    for ask in (lambda: audit.select(0.3), lambda: audit.plan(5)):
        with pytest.raises(fz.DataError, match="look at every zero"):
            ask()
