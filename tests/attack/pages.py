"""Pages made of labels that would run if they could, opened in a real browser."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np

import falsezero as fz

__all__ = ["HOSTILE", "attack"]

HOSTILE = [
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    '"><svg onload=window.hit=1>',
    "'-window.hit=1-'",
    "javascript:window.hit=1",
    "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}",
    "\u2028window.hit=1",
    "&lt;b&gt;",
    "$\\frac{$",
    "\ud800",
    "\x1b[2J",
    "=HYPERLINK(1)",
    "]]><x>",
]


def attack(seed: int, folder: Path) -> None:
    """Open an explorer page and an audit page: nothing runs, nothing is fetched, no error."""
    from playwright.sync_api import sync_playwright

    rng = random.Random(seed)
    labels = [f"{rng.choice(HOSTILE)}{rng.choice(HOSTILE)}{i}" for i in range(30)]
    X = (np.random.default_rng(seed).random((22, 8)) < 0.4).astype(float)
    table = fz.Table(X, labels[:22], labels[22:], name=rng.choice(HOSTILE))
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    explorer, page = folder / "explorer.html", folder / "audit.html"
    fz.explore(model, table, explorer, title=rng.choice(HOSTILE))
    fz.audit(table, probabilities=model, random_state=0).to_html(page)
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for each in (explorer, page):
            seen: list[str] = []
            opened = browser.new_context(offline=True).new_page()
            opened.on("pageerror", lambda error, seen=seen: seen.append(str(error)))
            opened.on("dialog", lambda dialog, seen=seen: seen.append(dialog.message))
            opened.on(
                "request",
                lambda request, seen=seen, each=each: (
                    None if request.url == each.as_uri() else seen.append(request.url)
                ),
            )
            opened.goto(each.as_uri())
            opened.wait_for_timeout(500)
            assert opened.evaluate("window.hit") is None, "a label ran"
            fetched = [url for url in seen if not url.startswith(("data:", "blob:"))]
            assert not fetched, fetched
        browser.close()
