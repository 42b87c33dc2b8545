"""A page in the browser, offline; any error or request fails a test."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a file offline; afterwards, no console error, no exception, no request may be seen."""
    seen: list[str] = []
    contexts = []

    def open_page(path: Path, **options: Any) -> Any:
        context = browser.new_context(
            offline=True, viewport={"width": 1440, "height": 1000}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: seen.append(f"exception: {error}"))
        page.on("console", lambda m: seen.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: seen.append(r.url) if r.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector("[data-ready]", timeout=30_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    # A download is a blob of the page's own making.
    assert [what for what in seen if not what.startswith("blob:")] == []


@pytest.fixture(scope="session")
def spoilt() -> fz.Table:
    """Digits with omissions: a table that has a white phantom."""
    digits = fz.datasets.make_digits_demo().table
    names = [f"image {i}" for i in range(len(digits))]
    named = fz.Table(digits.values, names, name="<digits> & co")
    return fz.corrupt(named, omit=0.4, random_state=0)


@pytest.fixture(scope="session")
def model(spoilt: fz.Table) -> fz.AspectBernoulli:
    return fz.AspectBernoulli(10, prior=0, tol=1e-5, n_init=4, random_state=0).fit(spoilt)


def farthest(page: Any, table: fz.Table, expected: Any) -> float:
    """Largest distance between what the page and what Python says, over all cells."""
    found = page.evaluate(
        """() => {
          const {fit} = document.querySelector("#falsezero").explorer;
          const values = new Float32Array(fit.n * fit.t);
          for (let at = 0; at < values.length; at++)
            values[at] = fit.probability(Math.floor(at / fit.t), at % fit.t);
          const bytes = new Uint8Array(values.buffer);
          let text = "";
          for (let i = 0; i < bytes.length; i += 8192)
            text += String.fromCharCode(...bytes.subarray(i, i + 8192));
          return {rows: fit.rows, columns: fit.columns, values: btoa(text)};
        }"""
    )
    row = {str(label): i for i, label in enumerate(table.rows)}
    column = {str(label): i for i, label in enumerate(table.columns)}
    values = np.frombuffer(base64.b64decode(found["values"]), np.float32).reshape(table.shape)
    at = np.ix_([row[r] for r in found["rows"]], [column[c] for c in found["columns"]])
    return float(np.abs(values - np.asarray(expected)[at]).max())
