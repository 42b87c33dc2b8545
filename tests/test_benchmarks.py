"""Speed claims: the published tables say what was measured, and every comparison can run."""

import importlib
import math
import os

import pytest
from benchmarks import __main__ as command
from benchmarks import case_repeated_looks, ranking, table
from benchmarks.harness import in_fresh_process, row

NEEDS_NOBODY = ["bernoulli_rbm", "bmf", "first_fit", "noisy_or", "plsa"]
"""Cases whose rivals come with falsezero itself: scikit-learn and plain NumPy."""


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """A results table and two pages of their own to write into."""
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(ranking, "RESULTS", tmp_path / "false_zeros.csv")
    monkeypatch.setattr(case_repeated_looks, "RESULTS", tmp_path / "repeated_looks.csv")
    for name, *markers in (("README", "speed"), ("PAGE", "results", "repeated-looks")):
        monkeypatch.setattr(table, name, tmp_path / f"{name}.md")
        parts = [
            f"<!-- {marker}:begin -->\nstale\n<!-- {marker}:end -->\n"
            for marker in (*markers, "false-zeros")
        ]
        (tmp_path / f"{name}.md").write_text("before\n" + "".join(parts) + "after\n")
    return tmp_path


def line(case="a case", ours=1.0, rival=2.0, **options):
    return row(case, "Model", "library", "seconds", ours, rival, **options)


def test_readme_says_what_was_measured():
    text = table.README.read_text()
    assert text == table.readme(text, table.read(), ranking.read())


def test_page_says_what_was_measured():
    text = table.PAGE.read_text()
    assert text == table.page(text, table.read(), ranking.read())


def test_tracked_results_are_whole():
    rows = table.read()
    names = {tuple(row[name] for name in table.KEY) for row in rows}
    assert len(names) == len(rows) > 30
    assert {row["file"] for row in rows} <= set(command.CASES)
    for measured in rows:
        expected = measured["rival_value"] / measured["ours_value"]
        assert measured["ratio"] == pytest.approx(expected, rel=2e-3, nan_ok=True), measured


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", NEEDS_NOBODY)
def test_quick_form_gives_rows_that_can_be_tracked(case, papers, monkeypatch):
    monkeypatch.delenv("FALSEZERO_DATA", raising=False)
    rows = importlib.import_module(f"benchmarks.case_{case}").run(True)
    table.replace(case, rows)
    assert len(table.read()) == len(rows) > 0
    for measured in rows:
        assert math.isfinite(measured["rival_value"])
        assert not math.isnan(measured["ratio"])
        assert measured["threads"] in (1, 2)


def test_rows_are_replaced_by_file_whatever_they_are_called(papers):
    table.replace("one", [line("old name"), line("other name")])
    table.replace("two", [line("kept")])
    table.replace("one", [line("new name")])
    assert [row["case"] for row in table.read()] == ["new name", "kept"]


def test_two_results_of_one_name_are_refused(papers):
    with pytest.raises(ValueError, match="two results are named a case"):
        table.replace("one", [line(), line()])


def test_a_target_never_reached_is_a_loss(papers):
    table.replace("one", [line("far", math.nan), line("near"), line("alone", rival=math.nan)])
    table.publish()
    page = table.PAGE.read_text()
    lost = page.split("## What lost")[1].split("## Case by case")[0]
    assert "| far |" in lost
    assert "never" in lost
    assert "| near |" not in lost
    assert "Of 2 comparisons with other libraries 1 were won or drawn and 1 lost." in page


def test_a_yardstick_is_neither_won_nor_lost(papers):
    table.replace("one", [line("bare", 2.0, 1.0, yardstick=True)])
    table.publish()
    page = table.PAGE.read_text()
    assert "(lost)" not in page
    assert "| bare |" in page.split("## Yardsticks")[1]


def test_headlines_with_the_same_words_become_a_range(papers):
    rows = [line("a", 1.0, 13.04, headline="fast"), line("b", 1.0, 39.4, headline="fast")]
    table.replace("one", [*rows, line("c", 1.0, 0.25, headline="slow"), line("d")])
    table.publish()
    readme = table.README.read_text()
    assert "| fast | library |  | 13 to 39 |" in readme
    assert "| slow | library |  | 0.25 (lost) |" in readme
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert "stale" not in readme


class Cases(dict):
    """Stand-ins for case modules: what `run` returns, or the error that it raises."""

    def module(self, name):
        self.asked = name.removeprefix("benchmarks.case_")
        return self

    def run(self, quick):
        if isinstance(self[self.asked], Exception):
            raise self[self.asked]
        return self[self.asked]


@pytest.fixture
def cases(monkeypatch):
    made = Cases(
        absent=ImportError("no library"), broken=RuntimeError("boom"), first=[line("1")],
        last=[line("2")],
    )  # fmt: skip
    monkeypatch.setattr(command, "CASES", ["first", "absent", "broken", "last"])
    monkeypatch.setattr(command, "import_module", made.module)
    return made


def test_a_failing_case_costs_nobody_else(papers, cases, capfd):
    assert command.main([]) == 1
    assert [row["case"] for row in table.read()] == ["1", "2"]
    said = capfd.readouterr().err
    assert "left out: no library" in said
    assert "boom" in said
    assert "failed: broken" in said


def test_quick_form_writes_nothing(papers, cases):
    assert command.main(["--quick", "first", "absent"]) == 0
    assert table.read() == []
    assert "stale" in table.README.read_text()


def test_unknown_case_is_named(cases, capsys):
    with pytest.raises(SystemExit):
        command.main(["nobody"])
    assert "no case 'nobody'; choose from first" in capsys.readouterr().err


def test_fresh_process_has_its_own_threads_and_memory(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert in_fresh_process(os.getenv, "OMP_NUM_THREADS", threads=1) == "1"
    assert in_fresh_process(os.getenv, "EXTRA", EXTRA="word") == "word"


def test_failure_in_a_fresh_process_says_why():
    with pytest.raises(RuntimeError, match="float failed in its own process: ValueError"):
        in_fresh_process(float, "no number")


def test_repeated_looks_are_judged_year_by_year():
    losses = {"Hubbard Brook 1": (0.2, 0.3, 0.25), "Hubbard Brook 2": (0.4, 0.5, 0.39)}
    methods = ("audit", "AspectBernoulli", "biolith with variables")
    known = [
        {"data": data, "method": method, "measure": measure, "value": value}
        for data, values in {**losses, "Swiss birds": (0.1, 0.2, 0.3)}.items()
        for method, value in zip(methods, values, strict=True)
        for measure in ("log loss", "AUC", "seconds")
    ]
    page = case_repeated_looks.page(known)
    assert "| audit | 0.1000 | 0.100 | 0.1 | 0.3000 | 0.300 | 0.3 | 1 of 2 |" in page
    assert "| AspectBernoulli | 0.2000 | 0.200 | 0.2 | 0.4000 | 0.400 | 0.4 |  |" in page
