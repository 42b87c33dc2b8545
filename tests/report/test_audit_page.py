"""The audit's page: the answer first, everything escaped, nothing loaded, and it fits a phone."""

from __future__ import annotations

import base64
import re
from importlib import resources

import matplotlib as mpl
import numpy as np
import pytest

import falsezero as fz
from falsezero.data.rounding import probability
from falsezero.explorer.policy import content_security_policy
from falsezero.plot._canvas import SURPRISING_ONE, SURPRISING_ZERO
from falsezero.report.elements import Column, data_table

mpl.use("Agg")


@pytest.fixture(scope="module")
def finds() -> fz.Table:
    """Three faunas of eight genera; a third of what lived there was not found."""
    rng = np.random.default_rng(0)
    fauna = np.kron(np.eye(3), np.full((1, 8), 0.95))[rng.integers(3, size=120)]
    values = (rng.random(fauna.shape) < fauna) & (rng.random(fauna.shape) < 0.67)
    rows = [f"site <b>{i}</b>" for i in range(120)]
    return fz.Table(values, rows, [f"genus {i}" for i in range(24)], "finds & gaps")


@pytest.fixture(scope="module")
def audit(finds):
    return fz.audit(finds, probabilities=fz.EASE(), loss=0.33, random_state=0, verbose=0)


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    assert audit.to_html(path) == path
    return path.read_text("utf-8")


def test_the_page_opens_with_the_answer(audit, page) -> None:
    assert "<title>Which zeros are real? finds &amp; gaps</title>" in page
    headline = re.search(r'class="headline">([^<]*)<', page)
    assert headline is not None
    assert headline[1] == audit.sentences_by_weight[0]
    assert f"{len(audit.zeros):,} of the" in headline[1]
    assert "We hid" in page.split("Surprising zeros</h2>")[0]


def test_the_page_lists_what_the_audit_lists(audit, page) -> None:
    table = page.split('id="zero-list"')[1].split("</table>")[0]
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", table)
    shown = audit.zeros.head(300)
    assert len(rows) == len(shown)
    assert rows[0][1] == shown["column"][0]
    for name in ("Present", "Again", "Expected"):
        assert f">{name}</th>" in table
    assert "site <b>" not in page
    assert "site &lt;b&gt;" in page


def test_the_downloaded_list_is_the_list(audit, page) -> None:
    data = re.search(r'download="zero-list.csv" href="data:text/csv;base64,([^"]*)"', page)
    assert data is not None
    assert base64.b64decode(data[1]).decode() == audit.zeros.to_csv()


def test_the_page_needs_no_network_and_runs_only_its_own_script(page) -> None:
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1] == content_security_policy([page])
    assert "default-src 'none'" in policy[1]


def test_a_table_that_teaches_nothing_says_so(tmp_path) -> None:
    noise = np.random.default_rng(1).random((80, 12)) < 0.4
    audit = fz.audit(noise.astype(float), probabilities=fz.EASE(), random_state=0, verbose=0)
    text = audit.to_html(tmp_path / "noise.html").read_text("utf-8")
    assert "No method did clearly better than how common each column is" in text
    assert "None is named." in text


def test_probabilities_never_claim_certainty() -> None:
    assert [probability(p) for p in (1.0, 0.995, 0.99, 0.5, 0.004, 0.0)] == [
        "0.99+",
        "0.99+",
        "0.99",
        "0.50",
        "<0.01",
        "<0.01",
    ]


def test_only_long_tables_scroll_within_themselves() -> None:
    assert 'class="scroll"' in data_table([Column("n", range(25), "number")])
    assert 'class="scroll long"' in data_table([Column("n", range(26), "number")])


def test_the_page_of_repeated_looks_speaks_of_looks(tmp_path) -> None:
    looks = fz.datasets.make_looks(30, 6, random_state=0).looks
    audit = fz.audit(looks, random_state=0, verbose=0)
    text = audit.to_html(tmp_path / "looks.html").read_text("utf-8")
    assert "Detection was measured by looking repeatedly" in text
    assert "handed in" not in text
    assert "The trial" not in text
    section = text.split('<h2 id="trial">Detection</h2>')[1].split("<h2")[0]
    assert "<svg" in section or "<img" in section
    needed, table = audit.looks_needed(0.05)["looks_needed"], audit.intervals()
    hardest = int(np.argmin(table["detection"]))
    first = re.findall(r"<tr><td[^>]*>(.*?)</tr>", section)[0]
    cells = re.sub(r"<[^>]+>", "|", first)
    assert cells.startswith(f"{table['column'][hardest]}|")
    low, high = (table[f"detection_{end}"][hardest] for end in ("low", "high"))
    assert f"{table['detection'][hardest]:.2f} ({low:.2f} to {high:.2f})" in cells
    assert f"|{needed[hardest]}|" in cells or "200 or more" in cells


def test_the_page_of_observers_ranks_them(tmp_path) -> None:
    rng = np.random.default_rng(0)
    answers = (rng.random((40, 4)) < np.where(rng.random((40, 1)) < 0.5, 0.8, 0.2)).astype(float)
    audit = fz.audit(answers[:, :, None], random_state=0)
    text = audit.to_html(tmp_path / "observers.html").read_text("utf-8")
    section = text.split('<h2 id="trial">Detection</h2>')[1].split("<h2")[0]
    assert section.count("<tr><td") == 4
    assert "False alarms" in section


def test_groups_of_rows_are_told_apart(audit, tmp_path) -> None:
    groups = ["left" if i % 2 else "right" for i in range(len(audit.table))]
    text = audit.to_html(tmp_path / "audit.html", groups=groups).read_text()
    assert "<h3>Groups of rows</h3>" in text
    table = text.split("<h3>Groups of rows</h3>")[1].split("</table>")[0]
    assert table.count("<tr>") == 3
    surprising = [int(n) for n in re.findall(r'<td class="number">(\d+)</td></tr>', table)]
    assert sum(surprising) == int(audit.rows["surprising"].sum())


def test_all_pages_and_plots_speak_one_language_of_colours() -> None:
    def rgb(file: str, name: str) -> tuple[int, ...]:
        package, _, leaf = file.partition("/")
        text = resources.files(f"falsezero.{package}").joinpath(leaf).read_text("utf-8")
        value = re.search(rf"--{name}: ([^;]+);", text)[1]
        found = mpl.colors.to_rgb(value) if value.startswith("#") else None
        parts = re.findall(r"\d+", value) if found is None else [round(255 * x) for x in found]
        return tuple(map(int, parts))

    plotted = [
        tuple(round(255 * x) for x in mpl.colors.to_rgb(colour))
        for colour in (SURPRISING_ZERO, SURPRISING_ONE)
    ]
    pages = [rgb("report/page.css", name) for name in ("zero-bar", "one")]
    explorer = [rgb("explorer/explorer.css", name) for name in ("missed", "extra")]
    assert plotted == pages == explorer
