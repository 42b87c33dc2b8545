"""How a table looks in a terminal and in a notebook: its size and one small corner."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from falsezero.data.plain_text import printable

if TYPE_CHECKING:
    from falsezero.data.table import Table

__all__ = ["as_html", "as_text", "headline", "summary"]

STYLE = {
    "table": "border-collapse:collapse;font-size:90%",
    "th": "text-align:left;font-weight:normal;padding:1px 6px",
    "td": "text-align:center;padding:1px 6px",
}


def headline(table: Table) -> str:
    """Say in one line what the table is called and how large, full and complete it is."""
    title = f"Table {table.name!r}" if table.name else "Table"
    return f"{title}: {summary(table)}"


def summary(table: Table, *, labels: bool = False) -> str:
    """Say how large, how full and how complete the table is, perhaps with the first labels.

    >>> from falsezero.data.table import Table
    >>> summary(Table([[1, 0]], ["Sansan"], ["Sus", "Felis"]), labels=True)
    '1 row (Sansan) × 2 columns (Sus, ...), 50 % ones, every cell observed'
    """
    filled = "ones" if table.is_binary else "nonzero"
    sizes = [
        _plural(size, noun) + (_first(names) if labels else "")
        for size, noun, names in zip(
            table.shape, ("row", "column"), (table.rows, table.columns), strict=True
        )
    ]
    parts = [
        " × ".join(sizes),
        f"{100 * table.density:.3g} % {filled}",
        f"{_plural(table.n_missing, 'cell')} not observed"
        if table.n_missing
        else "every cell observed",
    ]
    return ", ".join(parts)


def as_text(table: Table, *, max_rows: int = 8, width: int = 80) -> str:
    """Draw the top left corner: ■ one, · zero, ? not observed, counts as numbers."""
    rows, heads = table.rows[:max_rows], table.columns[: width // 3]
    cells = _corner(table, len(rows), len(heads))
    return corner_text(headline(table), rows, heads, cells, table.shape, width)


def corner_text(
    title: str, rows: Any, columns: Any, cells: Any, shape: tuple[int, int], width: int
) -> str:
    """A title over as many columns of a table's corner as fit, with a sign where there is more."""
    labels = [_shorten(label, 18) for label in rows]
    margin = max(map(len, labels), default=0)
    lines, used, shown = [f"{'':{margin}}", *(f"{row:{margin}}" for row in labels)], margin, 0
    for column, label in enumerate(columns):
        entries = [_shorten(label, 10), *(line[column] for line in cells)]
        size = max(map(len, entries))
        if used + size + 4 > width:
            break
        lines = [f"{line}  {entry:{size}}" for line, entry in zip(lines, entries, strict=True)]
        used, shown = used + size + 2, shown + 1
    if shown < shape[1]:
        lines = [f"{line}  …" for line in lines]
    if len(labels) < shape[0]:
        lines.append("⋮")
    return "\n".join([title, *(line.rstrip() for line in lines)])


def as_html(table: Table, *, max_rows: int = 8, max_columns: int = 10) -> str:
    """Draw the same corner as a small HTML table with escaped labels."""
    rows = [_shorten(label, 24) for label in table.rows[:max_rows]]
    heads = [_shorten(label, 16) for label in table.columns[:max_columns]]
    more = "…" if len(heads) < table.shape[1] else None
    lines = [_html_row("th", ["", *heads, *([more] if more else [])])]
    for row, cells in zip(rows, _corner(table, len(rows), len(heads)), strict=True):
        lines.append(_html_row("td", [row, *cells, *([more] if more else [])]))
    if len(rows) < table.shape[0]:
        lines.append(_html_row("td", ["⋮", *[""] * len(heads)]))
    body = f'<table style="{STYLE["table"]}">{"".join(lines)}</table>'
    return f"<div><p>{escape(headline(table))}</p>{body}</div>"


def _corner(table: Table, n_rows: int, n_columns: int) -> list[list[str]]:
    corner = table.values[:n_rows, :n_columns].toarray()
    marks = {0.0: "·", 1.0: "■"} if table.is_binary else {0.0: "·"}
    return [[_mark(float(value), marks) for value in row] for row in corner]


def _mark(value: float, marks: dict[float, str]) -> str:
    return "?" if np.isnan(value) else marks.get(value, f"{value:.4g}")


def _shorten(label: Any, limit: int) -> str:
    text = printable(" ".join(str(label).split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _first(names: Any) -> str:
    return f" ({_shorten(names[0], 24)}{', ...' if len(names) > 1 else ''})"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _html_row(tag: str, cells: list[str]) -> str:
    head, *rest = cells
    inner = f'<th style="{STYLE["th"]}">{escape(head)}</th>'
    inner += "".join(f'<{tag} style="{STYLE[tag]}">{escape(cell)}</{tag}>' for cell in rest)
    return f"<tr>{inner}</tr>"
