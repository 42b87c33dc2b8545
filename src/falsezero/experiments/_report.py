"""A report of a reproduced paper: tables, figures, and every claim with its verdict."""

from __future__ import annotations

import base64
import html
import io
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.data.output import write_text
from falsezero.data.tidy import Tidy
from falsezero.experiments._items import NOT_KNOWN, Item

__all__ = ["Report"]

HOLDS, FAILS, UNTESTED, DRAWN = "holds", "does not hold", "cannot be tested", "drawn"
_FULL_ONLY = "only in the full form"

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
_CLAIM_COLUMNS = ["where", "claim", "found", "verdict", "reason"]


class Report:
    """Collect what an experiment finds, and write it as one self-contained HTML page.

    Given the list of a paper's items, every claim and every picture has to belong to one of them,
    and the report refuses to be written while an item is left out.

    Parameters
    ----------
    title, citation : str
    quick : bool
        Whether this is the quick form: smaller and fewer runs.
    items : sequence of Item, optional
        What the paper shows and says. Without it anything may be reported.

    Examples
    --------
    >>> report = Report("A paper", "Somebody, 2009", quick=True)
    >>> report.claim("Figure 1", "ones are frequent", "0.7 of the cells", True)
    >>> report.claims["verdict"].tolist()
    ['holds']
    """

    def __init__(self, title: str, citation: str, quick: bool, items: Sequence[Item] = ()):
        self.title = title
        self.citation = citation
        self.quick = quick
        self._items = {item.name: item for item in items}
        self._drawn: set[str] = set()
        self._claims: list[dict[str, str]] = []
        self._parts: list[str] = []
        self._began = time.perf_counter()
        self._sections: list[tuple[str, float]] = []

    @property
    def claims(self) -> Tidy:
        """Every claim so far: where, claim, found, verdict, reason."""
        return Tidy.from_rows(self._claims, _CLAIM_COLUMNS)

    @property
    def items(self) -> Tidy:
        """Every item of the paper with its verdict so far; empty where it was left out."""
        rows = []
        for item in self._items.values():
            verdict, reason = self._verdict_of(item)
            row = {"item": item.name, "where": item.where, "what": item.what}
            rows.append({**row, "verdict": verdict, "reason": reason})
        return Tidy.from_rows(rows, ["item", "where", "what", "verdict", "reason"])

    def _verdict_of(self, item: Item) -> tuple[str, str]:
        """A claim that fails decides, then one that holds, then a picture."""
        claims = [claim for claim in self._claims if claim["where"] == item.name]
        verdicts = [claim["verdict"] for claim in claims]
        if FAILS in verdicts:
            failed = [claim["reason"] for claim in claims if claim["verdict"] == FAILS]
            share = f"{len(failed)} of {len(claims)} claims: " if len(claims) > 1 else ""
            return FAILS, share + "; ".join(dict.fromkeys(failed))
        if HOLDS in verdicts:
            return HOLDS, ""
        if item.name in self._drawn:
            return DRAWN, "; ".join(claim["found"] for claim in claims)
        if claims:
            return UNTESTED, claims[-1]["found"]
        if item.untested:
            return UNTESTED, item.untested
        return (UNTESTED, _FULL_ONLY) if item.full_only and self.quick else ("", "")

    def _check(self, name: str) -> None:
        if self._items and name not in self._items:
            raise ValueError(
                f"{name!r} is not in the list of what {self.title!r} covers; add it to the items."
            )

    @property
    def costs(self) -> Tidy:
        """Seconds of processor time that each part of the report took."""
        starts = [start for _, start in self._sections]
        spent = np.diff([*starts, time.process_time()]).round(1)
        return Tidy(part=[title for title, _ in self._sections], cpu_seconds=spent.tolist())

    def section(self, title: str, text: str = "") -> None:
        """Begin a part of the report, and tell on standard error how far we are."""
        seconds = time.perf_counter() - self._began
        print(f"[{seconds:6.1f} s] {title}", file=sys.stderr, flush=True)
        self._sections.append((title, time.process_time()))
        self._parts.append(f"<h2>{html.escape(title)}</h2>")
        if text:
            self.text(text)

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def claim(
        self,
        where: str,
        claim: str,
        found: str,
        holds: bool | None,
        *,
        ours: str = "",
        reason: str = "",
    ) -> None:
        """A claim of the paper, what we found, and whether it holds (None: cannot be tested).

        Parameters
        ----------
        where : str
            Name of the item that the claim belongs to.
        claim, found : str
        holds : bool or None
        ours : str
            The threshold, or the reading, that is ours and not the paper's.
        reason : str
            Why we find otherwise; without it the item's own doubt is given.
        """
        self._check(where)
        verdict = UNTESTED if holds is None else HOLDS if holds else FAILS
        item = self._items.get(where)
        why = (reason or (item.doubt if item else NOT_KNOWN)) if verdict == FAILS else ""
        found = f"{found} (threshold of ours: {ours})" if ours else found
        row = {"where": where, "claim": claim, "found": found, "verdict": verdict, "reason": why}
        self._claims.append(row)
        because = f" <i>Reason: {html.escape(why)}.</i>" if why else ""
        self._parts.append(
            f"<p><b>{html.escape(where)}</b>: {html.escape(claim)} &rarr; {html.escape(found)} "
            f'<span class="{_CLASS[verdict]}">{verdict}</span>{because}</p>'
        )

    def table(self, table: Tidy, caption: str, *items: str) -> None:
        """A table of results, and the items that it shows."""
        self._draw(items)
        self._parts.append(f"<p>{html.escape(caption)}</p>{_as_html(table)}")

    def figure(self, display: Any, caption: str, *items: str) -> None:
        """A drawn display, and the items that it shows."""
        self._draw(items)
        data = base64.b64encode(_png(display.figure_)).decode()
        display.close()
        text = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def _draw(self, items: Sequence[str]) -> None:
        for name in items:
            self._check(name)
            self._drawn.add(name)

    def write(self, folder: Path) -> Path:
        """Write report.html, and claims, items and costs as JSON; returns the page."""
        left_out = [row["item"] for row in self.items.to_rows() if not row["verdict"]]
        if left_out:
            raise ValueError(
                f"{self.title!r} says nothing of {', '.join(left_out)}; report them, or give the "
                "reason in the list of items."
            )
        target = Path(folder) / "report.html"
        write_text(target, self._page())
        summary = {"title": self.title, **self._circumstances(), "items": self.items.to_rows()}
        contents = {"claims": self._claims, "items": summary, "costs": self.costs.to_rows()}
        for name, content in contents.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            write_text(Path(folder) / f"{name}.json", text)
        return target

    def _circumstances(self) -> dict[str, Any]:
        """When, on what and for how long the report was made."""
        return {
            "form": "quick" if self.quick else "full",
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{_processor()}, {os.cpu_count()} cores, "
            f"Python {platform.python_version()}",
            "minutes": round((time.perf_counter() - self._began) / 60, 1),
            "cpu_minutes": round(time.process_time() / 60, 1),
            "megabytes": _peak_megabytes(),
        }

    def _page(self) -> str:
        made = self._circumstances()
        kind = "quick form: smaller and fewer runs" if self.quick else "full form"
        verdicts = [claim["verdict"] for claim in self._claims]
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in (HOLDS, FAILS, UNTESTED))
        listed = f"<h2>Items of the paper</h2>{_as_html(self.items)}" if self._items else ""
        head = (
            f"<h1>{html.escape(self.title)}</h1><p>{html.escape(self.citation)}</p>"
            f"<p>{kind}; {made['cpu_minutes']:.1f} minutes of processor time, "
            f"{made['minutes']:.1f} minutes on the clock, {made['megabytes']} MB; {made['date']}, "
            f"{html.escape(made['machine'])}. {len(verdicts)} claims: {counts}.</p>"
            f"{listed}<h2>Claims</h2>{_as_html(self.claims)}"
        )
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body>{head}{''.join(self._parts)}<h2>What each part cost</h2>"
            f"{_as_html(self.costs)}</body></html>"
        )


def _png(figure: Any) -> bytes:
    """A picture in 64 colours that cover its own: a third of the size, and as good to see."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    picture = Image.open(drawn).convert("RGB")
    few = picture.quantize(64, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, format="png", optimize=True)
    return small.getvalue()


def _processor() -> str:
    """The kind of processor, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    kind = named[0] if named else platform.processor()
    return f"{kind} ({platform.machine()})" if kind else platform.machine()


def _peak_megabytes() -> int:
    """The most memory that this process has held; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1 << 20 if sys.platform == "darwin" else 1 << 10)


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
