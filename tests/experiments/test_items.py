"""Every table, figure and claim of a paper is shown, judged, or has a reason why not."""

import ast
import html
import json
from importlib import import_module
from pathlib import Path

import pytest

import falsezero.experiments
from falsezero.cli.reproduce import PAPERS
from falsezero.experiments._items import Item
from falsezero.experiments._report import Report
from falsezero.plot import CurvesDisplay

HOME = Path(falsezero.experiments.__file__).parent
REPORTS = Path(__file__).parents[2] / "docs" / "papers" / "reports"
NAMES = [paper.replace("-", "_") for paper in PAPERS]


def items_of(paper):
    return import_module(f"falsezero.experiments.{paper}.items").ITEMS


def code_of(paper):
    files = (HOME / paper).glob("*.py")
    return [ast.parse(file.read_text()) for file in files if file.name != "items.py"]


def strings_in(tree):
    """String constants outside docstrings."""
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {n.value for n in texts if isinstance(n.value, str) and id(n) not in loose}


@pytest.mark.parametrize("paper", NAMES)
def test_every_item_is_in_the_code_or_has_a_reason(paper):
    mentioned = set().union(*(strings_in(tree) for tree in code_of(paper)))
    items = items_of(paper)
    assert [i.name for i in items if not i.untested and i.name not in mentioned] == []
    assert [i.name for i in items if i.untested and i.name in mentioned] == []
    assert len({item.name for item in items}) == len(items)
    assert all(item.where and item.what and item.doubt for item in items)


@pytest.mark.parametrize("paper", NAMES)
def test_every_claim_and_picture_belongs_to_an_item(paper):
    known = {item.name for item in items_of(paper)}
    for tree in code_of(paper):
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        for call in calls:
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            named = {"claim": call.args[:1], "figure": call.args[2:], "table": call.args[2:]}
            for argument in named.get(method, []):
                if isinstance(argument, ast.Constant):
                    assert argument.value in known, f"line {call.lineno}"
                else:
                    assert not isinstance(argument, ast.JoinedStr), f"line {call.lineno}"


@pytest.mark.parametrize("paper", NAMES)
def test_the_list_reaches_the_report(paper):
    tree = ast.parse((HOME / paper / "__init__.py").read_text())
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    made = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "Report"]
    assert [call.args[-1].id for call in made] == ["ITEMS"]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_recorded_run_covers_the_list(paper):
    root = Path(__file__).parents[2] / "docs" / "papers"
    results = json.loads((root / "results" / f"{paper}.json").read_text(encoding="utf-8"))
    listed = [item.name for item in items_of(paper.replace("-", "_"))]
    assert [row["item"] for row in results["items"]] == listed
    items = items_of(paper.replace("-", "_"))
    assert [row["what"] for row in results["items"]] == [item.what for item in items]
    untested = {item.name: item.untested for item in items if item.untested}
    recorded = {row["item"]: row["reason"] for row in results["items"] if row["item"] in untested}
    assert recorded == untested
    assert all(row["verdict"] for row in results["items"])
    assert all(row["reason"] for row in results["items"] if row["verdict"] == "does not hold")
    code = set().union(*(strings_in(tree) for tree in code_of(paper.replace("-", "_"))))
    explicit = [text for text in code if len(text) > 40]
    doubts = {item.name: item.doubt for item in items}
    for row in results["items"]:
        if row["verdict"] == "does not hold":
            known = [doubts[row["item"]], *explicit]
            assert any(text in row["reason"] for text in known), row["reason"]
    assert results["form"] in ("full", "quick")
    assert f"{{paper-items}} {paper}" in (root / f"{paper}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("report", sorted(REPORTS.glob("*.html")), ids=lambda file: file.stem)
def test_a_recorded_report_is_that_of_its_results(report):
    file = REPORTS.parent / "results" / f"{report.stem}.json"
    results, page = json.loads(file.read_text(encoding="utf-8")), report.read_text(encoding="utf-8")
    assert all(f"<td>{html.escape(row['item'])}</td>" in page for row in results["items"])
    assert f"{results['date']}, {results['machine']}" in html.unescape(page)


FEW = (
    Item("Figure 1", "section 1", "ones"),
    Item("Figure 2", "section 2", "zeros", doubt="the data at hand"),
    Item("Table 1", "section 3", "nothing", untested="no data"),
    Item("Table 2", "section 3", "much", full_only=True),
)


def verdicts_of(report):
    return {row["item"]: (row["verdict"], row["reason"]) for row in report.items.to_rows()}


def test_a_report_refuses_to_leave_an_item_out(tmp_path):
    report = Report("A paper", "", True, FEW)
    report.claim("Figure 1", "a < b", "1 < 2", True)
    with pytest.raises(ValueError, match="says nothing of Figure 2;"):
        report.write(tmp_path)
    assert not list(tmp_path.iterdir())
    report.claim("Figure 2", "a > b", "1 < 2", False)
    assert "Items of the paper" in report.write(tmp_path).read_text()


def test_a_full_report_needs_more():
    report = Report("A paper", "", False, FEW)
    assert verdicts_of(report)["Table 2"] == ("", "")
    assert verdicts_of(Report("A paper", "", True, FEW))["Table 2"][0] == "cannot be tested"


def test_a_report_refuses_what_is_not_listed():
    report = Report("A paper", "", True, FEW)
    with pytest.raises(ValueError, match="'Figure 9' is not in the list"):
        report.claim("Figure 9", "a < b", "1 < 2", True)
    display = CurvesDisplay({"a": ([1, 2], [1, 2])}).plot()
    with pytest.raises(ValueError, match="'Figure 8' is not in the list"):
        report.figure(display, "a curve", "Figure 8")


def test_one_claim_that_fails_decides_and_has_its_reason():
    report = Report("A paper", "", True, FEW)
    report.claim("Figure 1", "a < b", "1 < 2", True, ours="strictly")
    report.claim("Figure 2", "a < b", "1 < 2", True)
    report.claim("Figure 2", "a > b", "1 < 2", False)
    report.claim("Figure 2", "a = b", "1 < 2", False, reason="our reading")
    found = verdicts_of(report)
    assert found["Figure 1"] == ("holds", "")
    assert found["Figure 2"] == ("does not hold", "2 of 3 claims: the data at hand; our reading")
    assert found["Table 1"] == ("cannot be tested", "no data")
    assert report.claims["found"][0] == "1 < 2 (threshold of ours: strictly)"
    assert report.claims["reason"].tolist() == ["", "", "the data at hand", "our reading"]


def test_a_picture_without_a_claim_is_drawn():
    report = Report("A paper", "", True, FEW)
    display = CurvesDisplay({"a": ([1, 2], [1, 2])}).plot()
    report.figure(display, "a curve", "Figure 1", "Figure 2")
    assert verdicts_of(report)["Figure 1"] == ("drawn", "")
