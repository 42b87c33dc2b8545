"""A small table of finds with omissions, and a model of it, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def finds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two communities of 12 genera each, every genus overlooked at up to 60 % of its sites."""
    truth = np.zeros((120, 24))
    truth[:60, :12] = truth[60:, 12:] = 1
    seen = fz.corrupt(truth, omit=0.6, random_state=0)
    lines = ["site,genus", *(f"site {i},genus {t}" for i, t in np.argwhere(seen))]
    path = tmp_path_factory.mktemp("cli") / "finds.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


LONG = ("--row", "site", "--column", "genus")


@pytest.fixture(scope="session")
def fitted(finds: Path) -> Path:
    path = finds.with_name("finds.fz")
    table = fz.read(finds, row="site", column="genus")
    fz.save(fz.AspectBernoulli(3, n_init=5, random_state=0).fit(table), path)
    return path
