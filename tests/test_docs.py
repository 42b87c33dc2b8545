"""The pages of the documentation: examples run, links lead somewhere, nothing is left out."""

from __future__ import annotations

import csv
import doctest
import re
import runpy
import shutil
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from types import ModuleType

import pytest

import falsezero
from falsezero._lazy import read_stub

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
_FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")


def console_blocks(text: str) -> str:
    """The page with everything but its ```pycon blocks blank: line numbers stay true."""
    keep = {}
    for block in _FENCED.finditer(text):
        if block[1] == "pycon":
            first = text[: block.start(2)].count("\n")
            keep |= dict(enumerate(block[2].split("\n"), first))
    return "\n".join(keep.get(i, "") for i in range(text.count("\n") + 1))


class NearEnough(doctest.OutputChecker):
    """Outputs agree when their words do and their decimal fractions are within two per cent.

    Another processor adds up in another order; a fit then stops a hair elsewhere.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = _NUMBER.findall(want), _NUMBER.findall(got)
        if [_NUMBER.sub("#", line).split() for line in want.split("\n")] != [
            _NUMBER.sub("#", line).split() for line in got.split("\n")
        ]:
            return False
        return all(
            float(w) == pytest.approx(float(f), rel=0.02, abs=0.011)
            for w, f in zip(wanted, found, strict=True)
        )


@pytest.mark.parametrize(
    ("got", "is_right"),
    [
        ("white  0.3266\n", True),
        ("white 0.3299\n", True),
        ("white 0.34\n", False),
        ("black 0.3266\n", False),
        ("white 0.3266 0.3266\n", False),
        ("white\n0.3266\n", False),
    ],
)
def test_near_enough_is_not_anything(got: str, is_right: bool) -> None:
    assert NearEnough().check_output("white 0.3266\n", got, 0) is is_right


def test_only_console_blocks_are_run() -> None:
    page = "text\n```pycon\n>>> 1\n1\n```\n>>> not this\n```python\n>>> nor this\n```\n"
    kept = console_blocks(page)
    assert [line for line in kept.split("\n") if line] == [">>> 1", "1"]
    assert kept.count("\n") == page.count("\n")


def console_test(page: Path) -> doctest.DocTest:
    text = console_blocks(page.read_text(encoding="utf-8"))
    return doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)


WITH_EXAMPLES = [page for page in PAGES if "```pycon" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "page", WITH_EXAMPLES, ids=[str(p.relative_to(DOCS)) for p in WITH_EXAMPLES]
)
def test_examples_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (DOCS / "data").glob("*.csv"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(NearEnough(), verbose=False, optionflags=doctest.ELLIPSIS)
    complaints: list[str] = []
    runner.run(console_test(page), out=complaints.append)
    assert not runner.failures, "".join(complaints)


def test_every_public_name_is_in_the_reference() -> None:
    listed = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    described = "".join(p.read_text(encoding="utf-8") for p in (DOCS / "api").glob("*.md"))
    # `audit` is a package and a function; which of them one gets depends on what was imported.
    assert "   ~falsezero.audit.run.audit\n" in listed
    assert ".. autofunction:: falsezero.audit.run.audit" in described
    for name in set(read_stub("falsezero")) - {"audit"}:
        if isinstance(getattr(falsezero, name), ModuleType):
            continue
        assert f"   ~falsezero.{name}\n" in listed, f"{name} is not in docs/api/index.md"
        first = getdoc(getattr(falsezero, name)).split("\n\n")[0]
        assert first.endswith((".", "?")), f"{name} has no sentence for its line in the reference"
        assert re.search(rf"^(\.\. auto\w+::| )\s+{name}$", described, re.MULTILINE), (
            f"{name} has no entry on a page of docs/api"
        )


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.name)
def test_everything_that_the_reference_describes_exists(page: Path) -> None:
    module = "falsezero"
    directive = r"^\.\. (currentmodule|auto(?:module|class|function|exception)):: (\S+)$"
    for kind, name in re.findall(directive, page.read_text(encoding="utf-8"), re.MULTILINE):
        if kind == "currentmodule":
            module = name
            continue
        full = name if name.startswith("falsezero.") else f"{module}.{name}"
        owner, _, last = full.rpartition(".")
        described = import_module(full) if kind == "automodule" else import_module(owner)
        assert kind == "automodule" or hasattr(described, last), f"{page.name} describes {full}"


def test_public_modules_are_described_whole() -> None:
    for module, page in (("datasets", "datasets"), ("plot", "pictures")):
        text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
        for name in getattr(falsezero, module).__all__:
            assert re.search(rf":: {name}$", text, re.MULTILINE), f"{name} is not in {page}.md"


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(DOCS)) for p in PAGES])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for page in PAGES:
        for kind, body in _FENCED.findall(page.read_text(encoding="utf-8")):
            if kind == "{toctree}":
                entries = [line.strip() for line in body.split("\n")]
                listed |= {
                    (page.parent / f"{entry}.md").resolve()
                    for entry in entries
                    if entry and not entry.startswith(":")
                }
    assert {page.resolve() for page in PAGES} - listed == {(DOCS / "index.md").resolve()}


def test_words_about_the_last_attacks_agree_with_their_counts() -> None:
    with open(DOCS.parent / "tests" / "attack" / "counts.csv", newline="") as file:
        is_clean = all(int(row["failures"]) == 0 for row in csv.DictReader(file))
    text = (DOCS / "checks.md").read_text(encoding="utf-8")
    assert ("had no failure" in text) == is_clean


@pytest.mark.parametrize("script", ["make_finds.py", "make_abundances.py"])
def test_the_example_files_are_what_their_script_makes(script: str, tmp_path: Path) -> None:
    runpy.run_path(shutil.copy(DOCS / "data" / script, tmp_path), run_name="__main__")
    made = [file.name for file in tmp_path.glob("*.csv")]
    assert len(made) >= 2
    for name in made:
        assert (tmp_path / name).read_text() == (DOCS / "data" / name).read_text()


@pytest.mark.parametrize("word", ["abundance", "dropout", "drop-out", "exposure", "occupancy"])
def test_people_find_their_words(word: str) -> None:
    own = [page for page in PAGES if page.parent != DOCS / "papers"]
    assert [page for page in own if re.search(rf"\b{word}", page.read_text(encoding="utf-8"))]
