"""How repeated looks are shown in a terminal and in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from falsezero.data.show import STYLE, _html_row, _plural, _shorten, corner_text

if TYPE_CHECKING:
    from falsezero.data.looks import Looks

__all__ = ["looks_as_html", "looks_as_text", "looks_headline"]


def looks_headline(looks: Looks) -> str:
    """Say in one line how many looks there are and how many of them saw something."""
    ones, tries = looks.counts
    total = int(tries.sum())
    share = 100 * float(ones.sum()) / max(total, 1)
    title = f"Looks {looks.name!r}" if looks.name else "Looks"
    size = f"{_plural(looks.shape[0], 'row')} × {_plural(looks.shape[2], 'column')}"
    most = _plural(int(tries.max()), "look")
    parts = [
        size,
        f"{most} at most ({total / tries.size:.3g} a cell)",
        f"{share:.2g} % of them ones",
    ]
    nobody = int((tries == 0).sum())
    if nobody:
        parts.append(f"{_plural(nobody, 'cell')} never looked at")
    if looks.observers is not None:
        parts.append(_plural(len(np.unique(looks.observers[looks.took_place])), "observer"))
    if looks.variables:
        parts.append(f"with {', '.join(looks.variables)}")
    return f"{title}: {', '.join(parts)}"


def _corner(looks: Looks, n_rows: int, n_columns: int) -> list[list[str]]:
    ones, tries = (part[:n_rows, :n_columns] for part in looks.counts)
    return [
        [f"{x}/{n}" if n else "?" for x, n in zip(*pair, strict=True)]
        for pair in zip(ones, tries, strict=True)
    ]


def looks_as_text(looks: Looks, *, max_rows: int = 8, width: int = 80) -> str:
    """Draw the top left corner as "ones/looks", ? where nobody looked."""
    rows, heads = looks.rows[:max_rows], looks.columns[: width // 5]
    cells = _corner(looks, len(rows), len(heads))
    shape = looks.shape[0], looks.shape[2]
    return corner_text(looks_headline(looks), rows, heads, cells, shape, width)


def looks_as_html(looks: Looks, *, max_rows: int = 8, max_columns: int = 10) -> str:
    """Draw the same corner as a small HTML table with escaped labels."""
    rows = [_shorten(label, 24) for label in looks.rows[:max_rows]]
    heads = [_shorten(label, 16) for label in looks.columns[:max_columns]]
    lines = [_html_row("th", ["", *heads])]
    for row, cells in zip(rows, _corner(looks, len(rows), len(heads)), strict=True):
        lines.append(_html_row("td", [row, *cells]))
    body = f'<table style="{STYLE["table"]}">{"".join(lines)}</table>'
    return f"<div><p>{escape(looks_headline(looks))}</p>{body}</div>"
