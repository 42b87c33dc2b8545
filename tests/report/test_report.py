"""The report: what it says must be what was found, and it must say when to be careful."""

from __future__ import annotations

import re
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import falsezero as fz
from falsezero.data.errors import FileReadError
from falsezero.report.page import _choice, _some_rows
from falsezero.report.study import study
from falsezero.report.words import caveats

mpl.use("Agg")


@pytest.fixture(scope="module")
def finds() -> fz.Table:
    """Three faunas of ten genera; half of what lived there was not found."""
    rng = np.random.default_rng(0)
    fauna = np.kron(np.eye(3), np.full((1, 10), 0.95))[rng.integers(3, size=240)]
    values = (rng.random(fauna.shape) < fauna) & (rng.random(fauna.shape) < rng.random((240, 1)))
    genera = [f"genus {i}" for i in range(30)]
    return fz.Table(values, [f"site <{i}>" for i in range(240)], genera, "finds & gaps")


@pytest.fixture(scope="module")
def page(finds, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert fz.write_report(finds, path, n_components=[2, 4], n_init=3) == path
    return path.read_text("utf-8")


def test_the_report_says_what_was_found(page) -> None:
    text = re.sub(r'srcdoc="[^"]*"|base64,[^"]*', "", page)
    assert "<title>Which zeros are real? finds &amp; gaps</title>" in text
    assert "240 rows, 30 columns" in text
    assert "4 components did best" in text
    assert re.search(r"[\d,]+ of the [\d,]+ zeros are surprising", text)
    assert "We hid" in text
    assert "site &lt;" in text
    for heading in ("Surprising zeros", "The trial on this table", "Look inside", "Explorer"):
        assert f"{heading}</h2>" in text


def test_the_report_needs_no_network(page) -> None:
    outside = re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page)
    assert outside == []
    assert page.count("<img ") == page.count('<img alt="') >= 4


def test_the_explorer_is_inside(page) -> None:
    assert page.count("<iframe") == 1
    assert "falsezero-payload" in page


def test_a_table_of_chance_is_said_to_teach_nothing(tmp_path) -> None:
    rng = np.random.default_rng(1)
    table = fz.Table(rng.random((60, 12)) < 0.5)
    path = fz.write_report(table, tmp_path / "plain.html", n_components=2, n_init=2)
    text = path.read_text("utf-8")
    assert "No method did clearly better than how common each column is" in text
    assert "None is named." in text


def test_a_folder_that_is_not_there_is_said_before_the_work(finds, tmp_path) -> None:
    with pytest.raises(FileReadError, match="There is no folder"):
        fz.write_report(finds, tmp_path / "no" / "report.html")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones((3, 1)), "3 rows and 1 column"),
        (np.zeros((3, 4)), "holds only zeros"),
        (np.ones((3, 4)), "holds only ones"),
        (np.full((3, 4), np.nan), "holds only cells not observed"),
    ],
)
def test_a_table_with_nothing_to_report_is_refused(values, words, tmp_path) -> None:
    with pytest.raises(ValueError, match=words):
        fz.write_report(fz.Table(values), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_an_image_of_the_wrong_size_is_said_before_the_work(finds, tmp_path) -> None:
    with pytest.raises(ValueError, match="9 pixels, but there are 30 columns"):
        fz.write_report(finds, tmp_path / "report.html", image_shape=(3, 3))


def test_the_fit_is_that_of_falsezero_fit_with_the_same_settings(finds) -> None:
    options = {"criterion": "cells", "random_state": 0, "n_init": 4}
    found = study(finds, fz.AspectBernoulli(), n_components=[4], **options)
    alone = fz.AspectBernoulli(4, n_init=4, random_state=0).fit(finds)
    np.testing.assert_array_equal(found.model.components_, alone.components_)
    assert len(found.objectives) == 4
    assert 1 <= len(found.as_good) <= 4
    assert found.objectives == sorted(found.objectives, reverse=True)
    assert found.model.callback is None


def make_study(**changes):
    """A study of which everything is in order, but for the changes."""
    model = SimpleNamespace(converged_=True)
    phantoms = SimpleNamespace(
        kinds=np.array(["white", "content"]), content=np.array([1]), white=np.array([0])
    )
    table = SimpleNamespace(shape=(1000, 100), n_ones=5000)
    settings = {
        "table": table,
        "selection": None,
        "objectives": [0.0] * 5,
        "as_good": [0.0] * 5,
        "model": model,
        "phantoms": phantoms,
        "undecided": np.array([], dtype=int),
    }
    return SimpleNamespace(**{**settings, **changes})


def chosen(best: int) -> SimpleNamespace:
    return SimpleNamespace(table={"n_components": np.arange(4, 9)}, best=best)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Nothing stands out"),
        ({"as_good": [0]}, "Only one of 5 random starts"),
        ({"as_good": [0, 0]}, "Only 2 of 5 random starts"),
        ({"selection": chosen(8)}, "8, is the largest that was tried"),
        ({"selection": chosen(4)}, "4, is the smallest that was tried"),
        ({"selection": chosen(5)}, "Nothing stands out"),
        ({"undecided": np.array([0])}, "Component 1 was classified as noise by a narrow margin"),
        ({"undecided": np.array([1])}, "Component 2 was classified as content by a narrow margin"),
        ({"model": SimpleNamespace(converged_=False)}, "stopped before it converged"),
        ({"table": SimpleNamespace(shape=(12, 100), n_ones=5000)}, "poorly determined"),
    ],
)
def test_what_to_distrust(changes, words) -> None:
    lines = caveats(make_study(**changes))
    assert len(lines) == 1
    assert words in lines[0]


def test_rows_are_picked_from_a_table_too_large_to_draw(finds) -> None:
    assert _some_rows(finds, 240 * 30) is finds
    some = _some_rows(finds, 1000)
    assert some.shape == (33, 30)
    assert some.rows[0] == "site <0>"
    assert some.rows[-1] == "site <239>"


def test_an_ugly_table_makes_a_quiet_page(tmp_path, recwarn) -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random((40, 30)) < 0.1, np.nan, rng.random((40, 30)) < 0.3)
    values[3] = np.nan
    values[:, 4] = 0
    rows = [f"{'Fundstelle ' * 9}\N{BONE} {i} <b>&" for i in range(40)]
    columns = [4 * "\u4eac\u90fd Australopithecus " + str(i) for i in range(30)]
    table = fz.Table(values, rows, columns, name="<i>&")
    path = tmp_path / "ugly.html"
    fz.write_report(table, path, n_components=[2, 3], criterion="bic", n_init=2)
    assert [str(w.message) for w in recwarn if "Glyph" in str(w.message)] == []
    page = path.read_text(encoding="utf-8")
    assert "<title>Which zeros are real? &lt;i&gt;&amp;</title>" in page
    assert "lower is better" in page
    assert "error bars" not in page


@pytest.mark.parametrize(
    ("criterion", "better", "how"),
    [
        ("evidence", "higher", "Models were ranked by log evidence."),
        ("aic", "lower", "The fit was weighed against the number of parameters it needs."),
    ],
)
def test_a_choice_reports_which_values_of_its_criterion_are_better(criterion, better, how) -> None:
    table = fz.datasets.make_aspect_bernoulli(20, 6, 2, random_state=0).table
    model = fz.BinaryICA(random_state=0) if criterion == "evidence" else fz.AspectBernoulli(prior=0)
    selection = fz.select(model, table, [1, 2], criterion, random_state=0)
    text = _choice(SimpleNamespace(selection=selection))
    assert f"({better} is better)" in text
    assert how in text


def test_a_report_on_more_components_than_columns_is_refused(finds, tmp_path) -> None:
    with pytest.raises(ValueError, match="31 components are more than a table of 240 × 30 cells"):
        fz.write_report(finds, tmp_path / "report.html", n_components=[2, 31])
    assert not (tmp_path / "report.html").exists()


def test_another_seed_starts_elsewhere(finds) -> None:
    def ends(seed: int) -> list[float]:
        options = {"n_components": [3], "criterion": "aic", "n_init": 2, "random_state": seed}
        return study(finds, fz.AspectBernoulli(), **options).objectives

    assert ends(0) == ends(0)
    assert ends(0) != ends(1)


def test_the_report_says_what_each_number_of_surprising_zeros_counts(tmp_path):
    table = fz.datasets.make_aspect_bernoulli(80, 14, 2, random_state=3).table
    model = fz.AspectBernoulli(2, n_init=1, random_state=0).fit(table)
    page = fz.write_report(table, tmp_path / "r.html", n_components=2, n_init=1).read_text("utf-8")
    n_model = len(fz.surprising_zeros(model, table))
    n_audit = len(fz.audit(table, random_state=0).zeros)
    assert n_model != n_audit
    assert f"one model of 2 components, which finds {n_model} surprising zero" in page
    assert f"averages many models and names {n_audit}." in page
