"""Building blocks of pages: paragraphs, tables, figures, and the document around them."""

from __future__ import annotations

import base64
import html
import io
import re
import warnings
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.rounding import probability
from falsezero.explorer.policy import content_security_policy

__all__ = [
    "Column",
    "bullet_list",
    "data_table",
    "document",
    "download_link",
    "figure",
    "inline",
    "paragraphs",
]

_LONG_ROW = 3
"""Width over height from which on a picture is a row of panels."""

_LONG = 25
"""Tables of more lines scroll inside a box of their own."""


class Column(NamedTuple):
    """One column of a table on a page."""

    name: str
    values: Sequence[Any] | np.ndarray
    kind: str = "text"
    """ "text", "why" (longer text), "number", or "probability", drawn as a bar with its number."""


def inline(text: str) -> str:
    """Plain text as HTML; text between backticks is shown as code.

    >>> inline("a < b, see `fz.audit`")
    'a &lt; b, see <code>fz.audit</code>'
    """
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def paragraphs(lines: Iterable[str]) -> str:
    """One paragraph per line."""
    return "".join(f"<p>{inline(line)}</p>" for line in lines)


def bullet_list(lines: Iterable[str]) -> str:
    """One bullet per line."""
    return "<ul>" + "".join(f"<li>{inline(line)}</li>" for line in lines) + "</ul>"


def data_table(columns: Sequence[Column], identifier: str = "") -> str:
    """A table, in a box that scrolls if it is long.

    On a narrow screen, lines with bars or reasons become blocks, because they would not fit side by
    side; other tables scroll sideways.
    """
    head = "".join(
        f'<th scope="col"{_class(column.kind)}>{html.escape(column.name)}</th>'
        for column in columns
    )
    lines = zip(*[column.values for column in columns], strict=True)
    body = "".join(
        "<tr>" + "".join(_cell(v, c) for v, c in zip(line, columns, strict=True)) + "</tr>"
        for line in lines
    )
    named = f' id="{identifier}"' if identifier else ""
    wide = any(column.kind in ("probability", "why") for column in columns)
    named += ' class="stacked"' if wide else ""
    table = f"<table{named}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    frame = "scroll long" if len(columns[0].values) > _LONG else "scroll"
    return f'<div class="{frame}" tabindex="0">{table}</div>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind in ("number", "why") else ""


def _cell(value: Any, column: Column) -> str:
    if column.kind == "probability":
        meter = f'<meter min="0" max="1" value="{float(value):.3f}"></meter>'
        name, number = html.escape(column.name), html.escape(probability(float(value)))
        return f'<td class="bar" data-label="{name}">{meter}{number}</td>'
    return f"<td{_class(column.kind)}>{html.escape(str(value))}</td>"


def download_link(text: str, file_name: str, content: str) -> str:
    """A link that saves a text file embedded in the page."""
    data = base64.b64encode(content.encode("utf-8", "replace")).decode()
    name = html.escape(file_name)
    return f'<a download="{name}" href="data:text/csv;base64,{data}">{html.escape(text)}</a>'


def figure(display: Any, caption: str, *, has_small_text: bool = False) -> str:
    """A drawn display as an image embedded in the page; closes the display's figure.

    A narrow screen scrolls along a long row of panels, or small text, instead of shrinking it.
    """
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # Labels in a script that the font lacks show as boxes in the picture only.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        display.figure_.savefig(stream, format="png", dpi=110)
    width, height = display.figure_.get_size_inches()
    data = base64.b64encode(stream.getvalue()).decode()
    text = html.escape(caption)
    display.close()
    is_scrolled = has_small_text or width > _LONG_ROW * height
    kind = ' class="long-row" tabindex="0"' if is_scrolled else ""
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure{kind}>{image}<figcaption>{text}</figcaption></figure>"


def document(title: str, body: str, *, inner_pages: Sequence[str] = ()) -> str:
    """A whole page that loads nothing and runs only its own scripts.

    Parameters
    ----------
    title : str
    body : str
        HTML of the page's contents.
    inner_pages : list of str, optional
        Pages shown in frames inside `body`. They inherit this page's policy, so it must allow
        their scripts.
    """
    script = f'<script type="module">\n{_file("page.js")}</script>'
    policy = content_security_policy([script, *inner_pages])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_file('page.css')}</style>\n</head>\n"
        f"<body>\n{body}\n{script}\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return resources.files("falsezero.report").joinpath(name).read_text("utf-8")
