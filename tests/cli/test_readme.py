"""The commands of the README can be typed as they stand."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

import falsezero as fz

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^(?: {4})?falsezero (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_its_options_exist(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name, *arguments = shlex.split(line)
    import_module(f"falsezero.cli.{name}").command.make_context(name, arguments)


@pytest.mark.parametrize("line", [line for line in COMMANDS if "--row" in line])
def test_its_columns_exist(line: str) -> None:
    said = shlex.split(line)
    file = next(word for word in said if word.endswith(".csv"))
    table = fz.read(
        ROOT / file, row=said[said.index("--row") + 1], column=said[said.index("--column") + 1]
    )
    assert table.n_ones > 0


def test_there_are_some() -> None:
    assert len(COMMANDS) > 5
