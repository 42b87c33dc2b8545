"""The page in a real browser, with files as people have them."""

from __future__ import annotations

import io
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import FIRST_KEY, TOKEN


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    from falsezero.app.server import make_app

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        app = make_app(
            tmp_path_factory.mktemp("served"),
            token=TOKEN,
            first_key=FIRST_KEY,
            hosts=frozenset({host}),
            max_bytes=1_000_000,
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://{host}/{TOKEN}/"
        server.should_exit = True
        thread.join()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, opened; no error, no exception and no request to anywhere else may be seen."""
    seen: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: seen.append(f"exception: {error}"))
    page.on("console", lambda m: seen.append(m.text) if m.type == "error" else None)
    page.on(
        "request", lambda r: None if r.url.startswith((address, "data:")) else seen.append(r.url)
    )
    page.goto(address)
    yield page
    context.close()
    assert [what for what in seen if what != "about:blank"] == []


@pytest.fixture
def drop(page: Any, tmp_path: Path) -> Callable[..., Any]:
    def drop(*files: tuple[str, bytes]) -> None:
        for name, content in files:
            (tmp_path / name).write_bytes(content)
        page.set_input_files("#files", [tmp_path / name for name, _ in files])
        page.wait_for_selector("#confirm:not([hidden])")

    return drop


def workbook(lines: list[list[Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for line in lines:
        book.active.append(line)
    book.save(stream)
    return stream.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def test_from_a_table_to_its_zeros(page, drop, small_csv) -> None:
    drop(("finds.csv", small_csv))
    assert "40 rows × 8 columns" in page.text_content("#reading")
    page.click("#start")
    page.wait_for_selector("#stage:has-text('Fitting model')")
    page.wait_for_selector("#result:not([hidden])", timeout=120_000)
    assert "zeros are surprising" in page.text_content("#headline")
    inside = page.frame_locator("#page")
    inside.locator("h1", has_text="Which zeros are real? finds").wait_for()
    assert "zeros are surprising" in inside.locator(".headline").text_content()
    with page.expect_download() as started:
        page.click("#downloads a[download='zeros.csv']")
    assert Path(started.value.path()).read_text().startswith("row,column,expected")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#result [data-again]")
    assert page.is_visible("#drop")


def test_cancelling_leads_back(page, drop, slow_csv) -> None:
    drop(("finds.csv", slow_csv))
    page.click("#start")
    page.click("#cancel")
    page.wait_for_selector("#confirm:not([hidden])")
    assert page.is_hidden("#problem")
    assert page.is_enabled("#start")


COUNTS = b"site,Sus,Bos,Felis,Canis\nA,3,0,1,0\nB,0,0,2,1\nC,1,1,0,0\n"
MENDED = {
    "counts.csv": (COUNTS, "Values above 0 are ones"),
    "latin.csv": ("site,Bär,Luchs\nA,1,0\nB,0,1\n".encode("latin-1"), "Read it as latin-1"),
    "utf16.csv": ("site,Sus,Bos\nA,1,0\nB,0,1\n".encode("utf-16"), "Read it as utf-16"),
    "marks.csv": (b"site,a,b,c,d\nA,P,0,P,0\nB,0,P,P,0\n", "'P' means present"),
    "gaps.csv": (b"site,a,b\nA,1,\nB,,1\n", "An empty cell means absent"),
    "twice.csv": (b"site,species\nA,Sus\nA,Sus\nB,Bos\n", "Count a pair once"),
    "titled.csv": (
        b"Survey of 1999\nsite,a,b\nA,1,0\nB,0,1\n",
        "names of the columns stand in line 2",
    ),
    "cut.csv": (
        b"Survey; 1999\nsite;a;b\nA;1;0\nB;0;1\n",
        "names of the columns stand in line 2",
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_a_click_mends_what_the_sentence_names(page, drop, name) -> None:
    content, remedy = MENDED[name]
    drop((name, content))
    problem = page.text_content("#reading .problem p")
    assert problem.startswith(name)
    assert "=" not in problem, "options are for those who type them"
    assert page.is_disabled("#start")
    page.locator(".remedies button", has_text=remedy).first.click()
    page.wait_for_selector("#reading .corner")
    assert page.is_enabled("#start")


READ = {
    "excel.csv": "\N{BYTE ORDER MARK}site;Sus;Bos\nA;1;0\nB;0;1\n".encode(),
    "long.tsv": b"plot_id\tspecies\n17\tSus\n4\tBos\n",
    "packed.zip": zipped("finds.csv", b"site,species\nA,Sus\nB,Bos\n"),
    "odd names.csv": b'"the, site",Sus\nA,1\n"B\nC",0\n',
    "<b>bold.csv": b"site,<img src=x onerror=alert(1)>,b\n<script>alert(1)</script>,1,0\nB,0,1\n",
}


@pytest.mark.parametrize("name", READ)
def test_read_at_once(page, drop, name) -> None:
    drop((name, READ[name]))
    assert page.is_visible("#reading .corner")
    assert page.is_enabled("#start")


def test_a_workbook_with_titles_above_its_table(page, drop) -> None:
    lines = [["Survey of 1999"], [], ["site", "Sus", "Bos"], ["A", 1, 0], ["B", 0, 1]]
    drop(("finds.xlsx", workbook(lines)))
    page.locator(".remedies button", has_text="names of the columns").first.click()
    page.wait_for_selector("#reading .corner")
    assert "2 rows × 2 columns" in page.text_content("#reading")


@pytest.mark.parametrize("name", ["empty.csv", "t.zip", "t.h5ad", "t.xlsx", "t.pdf"])
def test_what_cannot_be_read_is_one_sentence(page, drop, name) -> None:
    drop((name, b"" if name == "empty.csv" else b"%PDF nonsense"))
    assert name in page.text_content("#reading .problem p")
    assert page.is_disabled("#start")


def test_people_say_which_column_is_what(page, drop) -> None:
    drop(("finds.csv", b"a,b,c\n1,0,17\n0,1,4\n1,1,23\n"))
    assert page.is_disabled("#start")
    page.select_option("#lines th:nth-child(3) select", "index")
    page.wait_for_selector("#reading .corner")
    assert page.locator(".corner tbody th").all_text_contents() == ["17", "4", "23"]
    page.check("input[value=long]")
    page.wait_for_selector("#lines th:nth-child(2).column")
    page.select_option("#lines th:nth-child(1) select", "row")
    page.select_option("#lines th:nth-child(3) select", "column")
    page.wait_for_selector("#reading :text('2 rows × 3 columns')")


def test_a_file_may_be_dropped(page) -> None:
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["site,species\\nA,Sus\\nB,Bos\\n"], "finds.csv"));
          document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }"""
    )
    page.wait_for_selector("#reading .corner")


def test_too_large_a_file_is_one_sentence(page, tmp_path) -> None:
    (tmp_path / "big.csv").write_bytes(b"1" * 1_000_001)
    page.set_input_files("#files", tmp_path / "big.csv")
    page.wait_for_selector("#problem:not([hidden])")
    assert "big.csv is larger than 1 MB" in page.text_content("#problem")


def test_the_keyboard_is_enough(page, drop, slow_csv) -> None:
    drop(("finds.csv", slow_csv))
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "start":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#busy:not([hidden])")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "cancel"
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm:not([hidden])")
