"""Names are found, groups lie together, and the page can be printed."""

from __future__ import annotations

import numpy as np
import pytest

import falsezero as fz


@pytest.fixture(scope="module")
def grouped(model, spoilt, tmp_path_factory):
    """Three groups of unequal size, and some rows of none."""
    names = np.array(["early", "late", "middle", ""])[np.arange(len(spoilt)) % 7 % 4]
    groups = {row: name for row, name in zip(spoilt.rows, names, strict=True) if name}
    path = tmp_path_factory.mktemp("page") / "explore.html"
    return fz.explore(model, spoilt, path, groups=groups), names


def test_a_slash_leads_to_the_search_and_enter_to_what_it_finds(open_page, grouped) -> None:
    page = open_page(grouped[0])
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "fz-find"
    page.keyboard.type("IMAGE 179")
    assert page.text_content(".finder output").startswith("8 rows, 0 columns")
    page.keyboard.press("Enter")
    assert page.text_content(".finder output").startswith("1 of 8: row image 179")
    first = page.text_content(".readout")
    assert first.startswith("image 179")
    page.keyboard.press("Enter")
    second = page.text_content(".readout")
    assert second != first
    page.keyboard.press("Shift+Enter")
    assert page.text_content(".readout") == first
    page.keyboard.press("Escape")
    assert page.input_value("#fz-find") == ""
    assert page.evaluate("document.activeElement.id") == "fz-table"


def test_what_has_no_name_is_not_found(open_page, grouped) -> None:
    page = open_page(grouped[0])
    page.fill("#fz-find", "no such thing")
    assert page.text_content(".finder output") == "Nothing has that name."


def test_rows_of_a_group_lie_together(open_page, grouped, spoilt) -> None:
    page = open_page(grouped[0])
    rows = page.evaluate("document.querySelector('#falsezero').explorer.fit.rows")
    by_row = dict(zip(spoilt.rows.tolist(), grouped[1], strict=True))
    order = [by_row[row] for row in rows]
    assert [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name] == [
        "early",
        "late",
        "middle",
        "",
    ]


def test_the_list_can_be_narrowed_to_a_group(open_page, grouped, model, spoilt) -> None:
    page = open_page(grouped[0])
    found = fz.surprising_zeros(model, spoilt)
    by_row = dict(zip(spoilt.rows.tolist(), grouped[1], strict=True))
    of_late = sum(by_row[row] == "late" for row in found["row"].tolist())
    page.select_option("#fz-group", label=f"late ({(grouped[1] == 'late').sum()} rows)")
    page.wait_for_function("document.querySelector('.count').textContent.includes(' of late ')")
    assert page.text_content(".count").startswith(f"{of_late:,} zeros of late are surprising")
    cells = page.locator(".groups tbody tr", has_text="late").locator("td").all_text_contents()
    assert cells[2] == f"{of_late:,}"
    shown = page.locator(".surprises tbody tr:visible button").all_text_contents()
    assert {by_row[row] for row in shown} == {"late"}


def test_no_probability_is_printed_as_certain(open_page, grouped) -> None:
    page = open_page(grouped[0])
    page.fill("#fz-find", "image 1")
    page.keyboard.press("Enter")
    listed = page.locator(".surprises tbody .number:visible").all_text_contents()
    assert "100 %" not in listed
    assert "100 %" not in page.text_content("#fz-why")
    assert "100 %" not in page.locator(".components .bar .number").all_text_contents()


def test_the_page_can_be_printed(open_page, grouped) -> None:
    page = open_page(grouped[0])
    page.emulate_media(media="print")
    assert page.is_hidden("#fz-find")
    assert page.is_visible("#fz-table")
    assert page.is_visible(".surprises table")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    assert page.pdf()[:4] == b"%PDF"
