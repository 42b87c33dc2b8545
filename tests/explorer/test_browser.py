"""The page in a real browser: its numbers, its sliders, its lists, its keys."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import falsezero as fz
from falsezero.explorer.page import _PRECISIONS

from .conftest import farthest

GREY_LEVEL = 1 / 255


@pytest.fixture(scope="module")
def path(model, spoilt, tmp_path_factory):
    return fz.explore(model, spoilt, tmp_path_factory.mktemp("page") / "explore.html")


def test_numbers_are_those_of_denoise(open_page, path, model, spoilt) -> None:
    page = open_page(path)
    assert len(fz.find_phantoms(model).white) == 1
    assert farthest(page, spoilt, fz.denoise(model, spoilt).probability) < GREY_LEVEL


@pytest.mark.parametrize("precision", _PRECISIONS, ids=str)
def test_however_small_the_page_it_holds_the_table(
    open_page, monkeypatch, tmp_path, model, spoilt, precision
) -> None:
    monkeypatch.setattr("falsezero.explorer.page._PRECISIONS", (precision,))
    page = open_page(fz.explore(model, spoilt, tmp_path / "explore.html"))
    ones = page.evaluate(
        """() => {
          const {fit} = document.querySelector("#falsezero").explorer, found = [];
          fit.cells.forEach((code, at) => code && found.push([Math.floor(at / fit.t), at % fit.t]));
          return found.map(([r, c]) => [fit.rows[r], fit.columns[c]]);
        }"""
    )
    rows, columns = np.nonzero(spoilt.to_numpy())
    expected = zip(spoilt.rows[rows], spoilt.columns[columns].astype(str), strict=True)
    assert sorted(map(tuple, ones)) == sorted(expected)
    assert farthest(page, spoilt, fz.denoise(model, spoilt).probability) < GREY_LEVEL


def test_sliders_are_keep(open_page, path, model, spoilt) -> None:
    page = open_page(path)
    keep = fz.find_phantoms(model).keep
    for k, value in ((0, 1.0), (3, 0.25), (1, 0.0), (3, 0.5), (2, 0.0), (0, 0.1), (4, 0.0)):
        page.get_by_label(f"Keep component {k + 1}", exact=True).fill(str(value))
        keep[k] = value
    expected = fz.denoise(model, spoilt, keep=keep).probability
    assert farthest(page, spoilt, expected) < GREY_LEVEL


def test_many_moves_do_not_add_up_to_an_error(open_page, path, model, spoilt) -> None:
    page = open_page(path)
    keep = np.linspace(0.2, 1, 10).round(2)
    page.evaluate(
        """async (keep) => {
          const {sliders, fit} = document.querySelector("#falsezero").explorer;
          const move = ({slider}, value) => {
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
          };
          for (let i = 0; i < 400; i++) {
            move(sliders[i % 10], 0.5 + 0.5 * Math.sin(i));
            fit.probability(i, 0);
            if (i % 10 === 0) await new Promise(requestAnimationFrame);
          }
          keep.forEach((value, k) => move(sliders[k], value));
        }""",
        keep.tolist(),
    )
    expected = fz.denoise(model, spoilt, keep=keep).probability
    assert farthest(page, spoilt, expected) < GREY_LEVEL
    assert page.locator("#fz-which").inner_text().split()[0] in page.locator(".count").inner_text()


def test_one_component_alone(open_page, path, model, spoilt) -> None:
    page = open_page(path)
    for kept in (0, 1, 5):
        keep = np.eye(10)[kept]
        page.evaluate("k => document.querySelector('#falsezero').explorer.setAll(k)", keep.tolist())
        expected = fz.denoise(model, spoilt, keep=keep).probability
        assert farthest(page, spoilt, expected) < GREY_LEVEL


@pytest.mark.parametrize(
    ("precision", "levels"),
    [(_PRECISIONS[0], 0.1), (_PRECISIONS[-1], 5)],
    ids=["finest", "coarsest"],
)
def test_the_lists_are_those_of_the_library(
    open_page, monkeypatch, tmp_path, model, spoilt, precision, levels
) -> None:
    monkeypatch.setattr("falsezero.explorer.page._PRECISIONS", (precision,))
    page = open_page(fz.explore(model, spoilt, tmp_path / "explore.html"))
    assert len(fz.surprising_zeros(model, spoilt)) > 1000
    for label, found in (
        ("Surprising zeros", fz.surprising_zeros(model, spoilt)),
        ("Surprising ones", fz.surprising_ones(model, spoilt)),
    ):
        page.get_by_label(label).check()
        listed = downloaded(page)
        ours = zip(found["row"], found["column"].astype(str), strict=True)
        expected = dict(zip(ours, found["expected"].tolist(), strict=True))
        assert set(listed) == set(expected)
        assert all(abs(listed[cell] - expected[cell]) < levels * GREY_LEVEL for cell in listed)
        counted = page.locator(".count").inner_text()
        assert f"{len(listed):,}" in counted if listed else counted.startswith("No ")


def test_after_a_slider_went_there_and_back_the_list_is_the_same(open_page, path, model, spoilt):
    page = open_page(path)
    slider = page.get_by_label("Keep component 2", exact=True)
    there = len(fz.surprising_zeros(model, spoilt))
    for value in ("0.3", "1"):
        slider.fill(value)
        page.wait_for_function(
            """([text, wanted]) =>
              document.querySelector(".count").innerText.includes(text) === wanted""",
            arg=[f"{there:,}", value == "1"],
        )


def downloaded(page) -> dict[tuple[str, str], float]:
    """All surprising cells of the list, with what was expected."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all as CSV").click()
    with open(download.value.path(), newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {(row["row"], row["column"]): float(row["expected"]) for row in rows}


def test_a_click_explains_a_cell(open_page, path, model, spoilt) -> None:
    page = open_page(path)
    page.locator(".surprises tbody button").first.click()
    best = fz.surprising_zeros(model, spoilt, n=1)
    said = page.locator("#fz-why").inner_text()
    assert "recorded 0" in said
    assert "expect a one here with a probability of >99 %, so this zero is surprising" in said
    assert "The components that you removed made this zero with a probability of" in said
    number = int(re.search(r"What supports a one\?\s+component (\d+)", said).group(1))
    first = page.locator(".surprises tbody tr").first.inner_text()
    assert first.split("\t")[0].strip() in said
    if (best["row"][0], str(best["column"][0])) == tuple(first.split("\t")[:2]):
        assert number == int(best["causes"][0].split()[0]) + 1


def test_the_table_answers_to_the_keyboard(open_page, path) -> None:
    page = open_page(path)
    canvas = page.locator("#fz-table")
    canvas.focus()
    where = "document.querySelector('#falsezero').explorer.picture.cursor"
    row, column = page.evaluate(where)
    said = page.locator("#fz-why").inner_text()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "+", "+", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate(where) == [row + 2, column + 1]
    assert page.locator("#fz-why").inner_text() != said
    assert page.evaluate("document.querySelector('#falsezero').explorer.picture.zoom") > 2
    page.keyboard.press("0")
    assert page.evaluate("document.querySelector('#falsezero').explorer.picture.zoom") == 1


def test_no_mouse_is_needed(open_page, path) -> None:
    page = open_page(path)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """() => {
              const e = document.activeElement, {outlineWidth, outlineStyle} = getComputedStyle(e);
              return [e.id || e.textContent, `${outlineWidth} ${outlineStyle}`];
            }"""
        )
        assert focus[1] == "3px solid"
        seen.append(focus[0])
        if focus[0] == "fz-keep-1":
            page.keyboard.press("ArrowLeft")
            assert page.locator(":focus").get_attribute("aria-valuetext") == "99 %"
        if focus[0] == "Download all as CSV":
            with page.expect_download() as download:
                page.keyboard.press("Enter")
            assert download.value.suggested_filename == "surprising-zeros.csv"
            break
    # The list has a hundred lines: its button must not be behind them.
    assert seen[-1] == "Download all as CSV"
    assert {"fz-keep-9", "fz-table", "fz-least", "Keep all"} < set(seen)


def luminance(colour: str) -> float:
    levels = [int(level) / 255 for level in re.findall(r"\d+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in levels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_apart(open_page, path, scheme) -> None:
    page = open_page(path, color_scheme=scheme)
    colour = page.evaluate(
        """() => {
          const style = getComputedStyle(document.querySelector(".falsezero"));
          const names = ["page", "panel", "text", "faint", "focus", "missed", "missed-text",
                         "extra", "bar", "paper"];
          return Object.fromEntries(names.map((n) => [n, style.getPropertyValue(`--${n}`)]));
        }"""
    )
    text = [("text", "page"), ("text", "panel"), ("text", "bar"), ("faint", "panel")]
    text += [("missed-text", "page"), ("missed-text", "panel"), ("extra", "panel")]
    marks = [("focus", "page"), ("focus", "panel"), ("missed", "paper"), ("extra", "paper")]
    # WCAG 2.1 AA: 4.5 for text, 3 for what else must be seen.
    for pairs, least in ((text, 4.5), (marks, 3.0)):
        for pair in pairs:
            low, high = sorted(luminance(colour[name]) for name in pair)
            assert (high + 0.05) / (low + 0.05) >= least, pair


def test_everything_has_a_name_for_screen_readers(open_page, path) -> None:
    page = open_page(path)
    tree = page.locator("body").aria_snapshot()
    assert len(re.findall(r'slider "Keep component \d+"', tree)) == 10
    assert 'radio "Differences" [checked]' in tree
    assert "<digits> & co" in page.locator("h1").inner_text()
    headings = ["Components", "Table", "Surprising cells", "Why this cell?"]
    assert page.locator("h2").all_inner_texts() == headings
    assert "a table of 1,797 rows and 64 columns" in page.locator("header").inner_text()
    unnamed = [line for line in tree.splitlines() if re.search(r"- (button|slider|radio)$", line)]
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_shows_the_table_in_light_and_dark(open_page, path, spoilt, scheme) -> None:
    page = open_page(path, color_scheme=scheme)
    page.get_by_label("As recorded").check()
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    share = page.evaluate(
        """() => {
          const {picture} = document.querySelector("#falsezero").explorer, {image} = picture;
          const data = image.getContext("2d").getImageData(0, 0, image.width, image.height).data;
          const {paper, ink} = picture.colours;
          let total = 0;
          for (let i = 0; i < data.length; i += 4)
            total += (data[i] - paper[0]) / (ink[0] - paper[0]);
          return [total / (data.length / 4), paper[0] > ink[0]];
        }"""
    )
    assert share[0] == pytest.approx(spoilt.density, abs=0.01)
    assert share[1] == (scheme == "light")


def test_a_moving_hand_gets_a_quick_picture_and_a_resting_one_the_whole(open_page, path) -> None:
    page = open_page(path)
    heights = page.evaluate(
        """() => {
          const explorer = document.querySelector("#falsezero").explorer, {picture} = explorer;
          picture.draw(50);
          const quick = picture.image.height;
          explorer.rest();
          return [quick, picture.image.height, Math.round(picture.box().height)];
        }"""
    )
    assert heights[0] == 50
    assert heights[1] == heights[2]


def test_unobserved_cells_and_a_table_without_noise(open_page, tmp_path) -> None:
    drawn = fz.datasets.make_aspect_bernoulli(40, 12, 2, random_state=0).table.to_numpy()
    drawn[3, 4] = np.nan
    table = fz.Table(drawn)
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    page = open_page(fz.explore(model, table, tmp_path / "small.html", title="Plain"))
    codes = page.evaluate("Array.from(document.querySelector('#falsezero').explorer.fit.cells)")
    assert codes.count(2) == 1
    assert codes.count(1) == table.n_ones
    zeros = fz.surprising_zeros(model, table)
    assert len(zeros) > 0
    assert page.locator(".count").inner_text().startswith(f"{len(zeros)} zeros are surprising")
    page.locator(".surprises tbody button").first.click()
    assert "The components that you removed" not in page.locator("#fz-why").inner_text()
    assert farthest(page, table, fz.denoise(model, table).probability) < GREY_LEVEL


@pytest.mark.parametrize(
    "model",
    [
        fz.BernoulliMixture(3, random_state=0),
        fz.BinaryICA(3, random_state=0),
        fz.NoisyOr(3, random_state=0),
        fz.LogisticPCA(2, tol=1e-3, random_state=0),
        fz.BernoulliNMF(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_compute_the_same(open_page, tmp_path, model) -> None:
    table = fz.datasets.make_aspect_bernoulli(60, 12, 3, random_state=0).table
    model.fit(table)
    page = open_page(fz.explore(model, table, tmp_path / "other.html"))
    keep = np.linspace(0.3, 1, len(model.components_))
    for k, value in enumerate(keep):
        page.get_by_label(f"Keep component {k + 1}", exact=True).fill(f"{value:.2f}")
    assert farthest(page, table, model.reconstruct(table, keep=keep.round(2))) < GREY_LEVEL


def test_words_are_those_of_the_audit(open_page, path) -> None:
    """One look at a cell tells how surprising a zero is, never that it is false."""
    page = open_page(path)
    words = page.locator("body").inner_text().lower()
    assert "surprising" in words
    assert "wrong with" not in words
    assert "doubtful" not in words


@pytest.mark.parametrize(
    "model", [fz.DiscretePCA(2, random_state=0), fz.PLSA(2, random_state=0)], ids=lambda m: type(m)
)
def test_models_of_counts_are_refused(tmp_path, model) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (20, 8))
    with pytest.raises(TypeError, match="models of zeros and ones"):
        fz.explore(model.fit(counts), counts, tmp_path / "counts.html")
    assert not (tmp_path / "counts.html").exists()
