"""Labels on their way out: nothing in them may run in a spreadsheet or steer a terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["inert", "printable", "separated"]

_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def printable(text: str) -> str:
    """Text with its control characters shown, so that a terminal does not obey them.

    Line breaks stay: they are layout, and do no harm.

    >>> printable("Sus\\x1b[2J")
    'Sus\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else _shown(each) for each in text)


def _shown(character: str) -> str:
    return character.encode("unicode_escape").decode()


def inert(value: Any) -> Any:
    """A value that no spreadsheet takes for a formula: an apostrophe before text that looks so.

    >>> inert("=1+1"), inert("-0.5"), inert("Sus")
    ("'=1+1", '-0.5', 'Sus')
    """
    if isinstance(value, str) and value.startswith(_RUNS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def separated(lines: Iterable[Iterable[Any]], delimiter: str = ",", *, raw: bool = False) -> str:
    """Lines of values as CSV text; `raw` keeps labels that a spreadsheet would run.

    >>> separated([["row", "p"], ["@SUM(1)", 0.5]])
    "row,p\\n'@SUM(1),0.5\\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerows(lines if raw else (map(inert, line) for line in lines))
    return stream.getvalue()
