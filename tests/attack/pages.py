"""Pages made of labels that would run if they could, opened in a real browser."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

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


@cache
def _browser() -> Any:
    """One browser for all tries."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    playwright = sync_playwright().start()
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


def attack(seed: int, folder: Path) -> str:
    """Open an explorer page and an audit page: nothing runs, nothing is fetched, no error."""
    rng = random.Random(seed)
    labels = [f"{rng.choice(HOSTILE)}{rng.choice(HOSTILE)}{i}" for i in range(30)]
    X = (np.random.default_rng(seed).random((22, 8)) < 0.4).astype(float)
    table = fz.Table(X, labels[:22], labels[22:], name=rng.choice(HOSTILE))
    model = fz.AspectBernoulli(2, prior=1.0, random_state=0).fit(table)
    explorer, page = folder / "explorer.html", folder / "audit.html"
    fz.explore(model, table, explorer, title=rng.choice(HOSTILE))
    fz.audit(table, probabilities=model, random_state=0).to_html(page, title=rng.choice(HOSTILE))
    for each in (explorer, page):
        _open(each)
    return "harmless"


def _open(page: Path) -> None:
    seen: list[str] = []
    context = _browser().new_context(offline=True)
    opened = context.new_page()
    opened.on("pageerror", lambda error: seen.append(str(error)))
    opened.on("dialog", lambda dialog: seen.append(dialog.message))
    opened.on("console", lambda said: seen.append(said.text))
    opened.on("request", lambda request: seen.append(request.url))
    opened.goto(page.as_uri())
    for target in opened.locator("button:visible, summary:visible, select:visible").all()[:12]:
        target.click(timeout=20_000, force=True)
    opened.wait_for_timeout(300)
    assert opened.evaluate("window.hit") is None, "a label ran"
    assert not opened.locator("[onerror], [onload], img[src=x]").count(), "a label is an element"
    policy = opened.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy is not None, "no policy"
    assert "default-src 'none'" in policy, policy
    ours = (page.as_uri(), "data:", "blob:")
    fetched = [each for each in seen if not each.startswith(ours)]
    context.close()
    assert not fetched, fetched
