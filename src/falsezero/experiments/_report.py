"""A report of a reproduced paper: tables, figures, and every claim with its verdict."""

from __future__ import annotations

import base64
import html
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

from falsezero.data.output import write_text
from falsezero.data.tidy import Tidy

__all__ = ["Report"]

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem;
     border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #ddd;
         vertical-align: top; }
figure { margin: 1rem 0; } img { max-width: 100%; } figcaption { font-size: .9rem; color: #444; }
.holds { color: #00694f; font-weight: 600; } .fails { color: #a33a00; font-weight: 600; }
.untested { color: #555; font-style: italic; }
"""
_CLASS = {HOLDS: "holds", FAILS: "fails", UNTESTED: "untested"}


class Report:
    """Collect what an experiment finds, and write it as one self-contained HTML page.

    >>> report = Report("A paper", "Somebody, 2009", quick=True)
    >>> report.claim("Fig. 1", "ones are frequent", "0.7 of the cells", True)
    >>> report.claims["verdict"].tolist()
    ['holds']
    """

    def __init__(self, title: str, citation: str, quick: bool):
        self.title = title
        self.citation = citation
        self.quick = quick
        self._claims: list[dict[str, str]] = []
        self._parts: list[str] = []
        self._began = time.perf_counter()

    @property
    def claims(self) -> Tidy:
        """Every claim so far: where, claim, found, verdict."""
        return Tidy.from_rows(self._claims, ["where", "claim", "found", "verdict"])

    def section(self, title: str, text: str = "") -> None:
        """Begin a part of the report, and tell on standard error how far we are."""
        seconds = time.perf_counter() - self._began
        print(f"[{seconds:6.1f} s] {title}", file=sys.stderr, flush=True)
        self._parts.append(f"<h2>{html.escape(title)}</h2>")
        if text:
            self.text(text)

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def claim(self, where: str, claim: str, found: str, holds: bool | None) -> None:
        """A claim of the paper, what we found, and whether it holds (None: cannot be tested)."""
        verdict = UNTESTED if holds is None else HOLDS if holds else FAILS
        row = {"where": where, "claim": claim, "found": found, "verdict": verdict}
        self._claims.append(row)
        self._parts.append(
            f"<p><b>{html.escape(where)}</b>: {html.escape(claim)} &rarr; {html.escape(found)} "
            f'<span class="{_CLASS[verdict]}">{verdict}</span></p>'
        )

    def table(self, table: Tidy, caption: str) -> None:
        """A table of results."""
        self._parts.append(f"<p>{html.escape(caption)}</p>{_as_html(table)}")

    def figure(self, display: Any, caption: str) -> None:
        """A drawn display."""
        stream = io.BytesIO()
        display.figure_.savefig(stream, format="png", dpi=110)
        display.close()
        data = base64.b64encode(stream.getvalue()).decode()
        text = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def write(self, folder: Path) -> Path:
        """Write report.html, and claims.json for machines; returns the path of the page."""
        minutes = (time.perf_counter() - self._began) / 60
        kind = "quick version: smaller and fewer runs" if self.quick else "full version"
        verdicts = [claim["verdict"] for claim in self._claims]
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in (HOLDS, FAILS, UNTESTED))
        head = (
            f"<h1>{html.escape(self.title)}</h1><p>{html.escape(self.citation)}</p>"
            f"<p>{kind}; {minutes:.1f} minutes. {len(verdicts)} claims: {counts}.</p>"
            f"<h2>Claims</h2>{_as_html(self.claims)}"
        )
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body>{head}{''.join(self._parts)}</body></html>"
        )
        target = Path(folder) / "report.html"
        write_text(target, page)
        claims = json.dumps(self._claims, indent=1, ensure_ascii=False)
        write_text(Path(folder) / "claims.json", claims)
        return target


def _as_html(table: Tidy) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    lines = []
    for row in table.to_rows():
        cells = "".join(f"<td{_verdict(v)}>{html.escape(_text(v))}</td>" for v in row.values())
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _verdict(value: Any) -> str:
    known = _CLASS.get(value) if isinstance(value, str) else None
    return f' class="{known}"' if known else ""


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
