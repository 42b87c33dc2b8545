"""One cell of text to one number: missing marks, yes and no, plain numbers."""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["Cells", "NotANumber"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "?")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)


class NotANumber(ValueError):  # noqa: N818
    """The text of a cell that is neither a number nor a mark for a missing one."""


class Cells(dict[str, float]):
    """Look-up from the text of a cell to its number; NaN where nothing was observed.

    Cells of real tables repeat, so a text is parsed once and remembered.

    >>> cells = Cells()
    >>> cells["1"], cells[" 0 "], cells["NA"], cells["true"]
    (1.0, 0.0, nan, 1.0)
    """

    limit = 100_000

    def __missing__(self, text: str) -> float:
        number = _parse(text)
        if len(self) < self.limit:
            self[text] = number
        return number

    def parse(self, entry: Any) -> float:
        """Turn an entry of any type into a number."""
        if entry is None:
            return math.nan
        if isinstance(entry, str):
            return self[entry]
        try:
            return float(entry)
        except (TypeError, ValueError):
            return self[str(entry)]


def _parse(text: str) -> float:
    word = text.strip().lower()
    if word in MISSING:
        return math.nan
    if word in ("true", "false"):
        return float(word == "true")
    if not NUMBER.fullmatch(word):
        raise NotANumber(text)
    return float(word)
