"""The comparison of the main job: tables, rivals, and what is published of them."""

import os

import numpy as np
import pytest
from benchmarks import case_false_zeros as case
from benchmarks import false_zero_methods as methods
from benchmarks import false_zero_tables as tables
from benchmarks import phantom_alarms, ranking
from sklearn.linear_model import LogisticRegression


def rows(**precision):
    """Two tables, one scheme and seed; a list of average precisions a method."""
    return [
        {"table": table, "half": "open", "scheme": scheme, "seed": 0, "method": method,
         "average_precision": value, "auc": 0.5 + value / 2, "seconds": 1.0}
        for method, values in precision.items()
        for table, value in zip(("first", "second"), values, strict=True)
        for scheme in tables.SCHEMES
    ]  # fmt: skip


def test_quick_form_ranks_a_made_up_table(capsys, monkeypatch):
    monkeypatch.delenv("FALSEZERO_DATA", raising=False)
    assert case.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    for name in methods.IN_HOUSE:
        assert name in printed


def test_a_method_of_ones_own_takes_part():
    found = list(case.measured(case._small(), ["benchmarks.false_zero_methods:popularity"]))
    assert len(found) == 3
    assert all(0 < row["average_precision"] < 1 for row in found)
    with pytest.raises(SystemExit, match="no method 'nobody'"):
        methods.find("nobody")


def test_the_halves_share_no_table():
    assert not set(tables.OPEN) & set(tables.CLOSED)
    assert len(tables.OPEN) + len(tables.CLOSED) >= 12


@pytest.mark.parametrize("scheme", tables.SCHEMES)
def test_only_ones_are_hidden(scheme):
    rng = np.random.default_rng(0)
    values = (rng.random((300, 200)) < 0.4).astype(float)
    values[0, 0] = np.nan
    observed, lost = tables.hide(values, scheme, rng)
    assert (values[lost] == 1).all()
    assert (observed[lost] == 0).all()
    np.testing.assert_array_equal(observed[~lost], values[~lost])
    rates = {axis: lost.sum(axis=axis) / (values == 1).sum(axis=axis) for axis in (0, 1)}
    assert rates[0].std() > 0.1 if scheme == "column" else rates[0].std() < 0.06
    assert rates[1].std() > 0.1 if scheme == "row" else rates[1].std() < 0.06


def test_all_columns_at_once_are_the_regressions_one_by_one():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 8)) < 0.4).astype(float)
    X[:, 1] = np.where(rng.random(200) < 0.8, X[:, 0], X[:, 1])
    weights, bias = methods.logistic_columns(X)
    for t in (0, 1, 5):
        one = LogisticRegression(C=1.0, tol=1e-9, max_iter=1000).fit(np.delete(X, t, 1), X[:, t])
        np.testing.assert_allclose(np.delete(weights[:, t], t), one.coef_[0], atol=1e-4)
        assert bias[t] == pytest.approx(one.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(np.diag(weights), 0, atol=1e-9)


def test_summary_compares_on_the_tables_that_both_ranked():
    measured = rows(audit=(0.5, 0.3), EASE=(0.4, 0.35))
    measured += [{**row, "method": "dense"} for row in rows(audit=(0.1, 0.2))[:3]]
    lines = {line["method"]: line for line in ranking.summary(measured)}
    assert lines["audit"]["average_precision"] == pytest.approx(0.4)
    assert lines["audit"]["error"] == pytest.approx(0.1)
    assert lines["EASE"]["ahead"] == pytest.approx(0.025)
    assert lines["EASE"]["tables_won"] == 1
    assert lines["dense"]["n_compared"] == 1
    assert lines["dense"]["name"] == "dense (1 tables)"
    assert lines["EASE"]["name"] == "EASE"
    assert next(line["method"] for line in ranking.summary(measured)) == "audit"


def test_losses_come_first():
    page = ranking.page(rows(audit=(0.5, 0.3), EASE=(0.4, 0.35), Beals=(0.1, 0.2)))
    lost = page.split("### Where a rival was better")[1].split("### All methods")[0]
    assert "| second | EASE | 0.300 | **0.350** |" in lost
    assert "first" not in lost
    assert "Beals" not in lost
    assert "Of 4 comparisons (a rival, a table) audit lost 1." in page


def test_rows_survive_the_file(tmp_path):
    measured = rows(audit=(0.5, 0.3))
    ranking.write(measured, tmp_path / "rows.csv")
    assert ranking.read(tmp_path / "rows.csv") == sorted(
        measured, key=lambda row: (row["table"], row["scheme"])
    )


def test_known_rows_are_not_measured_again(monkeypatch):
    monkeypatch.setattr(case, "_tables", lambda halves: ["first", "second"])
    known = [{**row, "seed": seed} for seed in tables.SEEDS for row in rows(margins=(0.5, 0.3))]
    assert case.collect(["open"], ["margins"], known) == known


def test_a_rival_that_is_not_installed_costs_nobody_else(monkeypatch, capfd):
    monkeypatch.setattr(case, "_tables", lambda halves: ["finds.csv"])
    names = ["no_such_library:rank", "margins"]
    assert [row["method"] for row in case.collect(["truth"], names, [])] == ["margins"]
    assert "left out: No module named 'no_such_library'" in capfd.readouterr().err


@pytest.mark.skipif(not os.environ.get("FALSEZERO_DATA"), reason="FALSEZERO_DATA is not set")
def test_truth_sets_have_the_false_zeros_of_their_readmes():
    for name, share in (("Swiss birds", 0.119), ("Hubbard Brook 2015", 0.230)):
        task = tables.truth(name)
        assert task.is_false[task.zeros].mean() == pytest.approx(share, abs=5e-4)


def test_phantoms_are_counted_a_setting(capsys, monkeypatch):
    monkeypatch.setattr(phantom_alarms, "SHAPE", (200, 30))
    monkeypatch.setattr(phantom_alarms, "DENSITIES", (0.4,))
    monkeypatch.setattr(phantom_alarms, "LOSSES", (0.7,))
    assert phantom_alarms.main(["--tables", "2"]) == 0
    alarms = [line.split("found in ")[1] for line in capsys.readouterr().out.splitlines()]
    assert alarms == ["0 of 2", "0 of 2", "2 of 2"]


def test_finds_and_lived_agree():
    task = tables.truth("finds.csv")
    assert task.observed.shape == (200, 36)
    assert task.is_false.sum() > 800
