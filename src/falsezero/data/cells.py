"""One cell of text to one number: missing marks, yes and no, plain numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from falsezero.data.errors import DataError

__all__ = ["CellNumbers", "NotANumber", "is_number"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "?")
YES = ("true", "t", "yes", "y", "ja", "oui", "s\N{LATIN SMALL LETTER I WITH ACUTE}")
ONES = (*YES, "x", "+", "present", "\N{CHECK MARK}", "\N{HEAVY CHECK MARK}")
ZEROS = ("false", "f", "no", "n", "nein", "non", "absent")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
MEANINGS = dict.fromkeys(ONES, 1.0) | dict.fromkeys(ZEROS, 0.0)
MEANINGS |= dict.fromkeys(MISSING, math.nan)


class NotANumber(ValueError):  # noqa: N818
    """The text of a cell that is neither a number nor a mark that is known."""


class CellNumbers(dict[str, float]):
    """Look-up from the text of a cell to its number; NaN where nothing was observed.

    `marks` says what other texts mean, None for not observed, and has the last word. Cells of real
    tables repeat, so a text is parsed once and remembered.

    >>> cells = CellNumbers({"P": 1, "-": None})
    >>> cells["1,250"], cells["45 %"]
    (1250.0, 0.45)
    >>> cells["1"], cells[" 0 "], cells["NA"], cells["yes"], cells["p"], cells["-"]
    (1.0, 0.0, nan, 1.0, 1.0, nan)
    """

    limit = 100_000

    def __init__(self, marks: Mapping[str, Any] | None = None, decimal: str = ".") -> None:
        super().__init__()
        if not isinstance(marks or {}, Mapping):
            raise DataError(f"marks= says what texts mean, as in {{'P': 1}}, but is {marks!r}.")
        self.decimal = decimal
        self.marks = {
            str(text).strip().lower(): _meant(text, means) for text, means in (marks or {}).items()
        }

    def __missing__(self, text: str) -> float:
        number = self._parse(text)
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

    def _parse(self, text: str) -> float:
        word = text.strip().lower()
        for known in (self.marks, MEANINGS):
            if word in known:
                return known[word]
        if self.decimal != "." and word.count(self.decimal) == 1:
            word = word.replace(self.decimal, ".")
        elif self.decimal == "." and THOUSANDS.fullmatch(word):
            word = word.replace(",", "")
        if word.endswith("%") and NUMBER.fullmatch(word[:-1].rstrip()):
            return float(word[:-1]) / 100
        if not NUMBER.fullmatch(word):
            raise NotANumber(text)
        return float(word)


def is_number(text: str) -> bool:
    """Whether a text is a number, a truth value or a mark for a missing one, and so no name.

    >>> [is_number(text) for text in ("1.5", "NA", "true", "x")]
    [True, True, True, False]
    """
    word = text.strip().lower()
    return word in (*MISSING, "true", "false") or NUMBER.fullmatch(word) is not None


def _meant(text: str, means: Any) -> float:
    try:
        return math.nan if means is None else float(means)
    except (TypeError, ValueError):
        raise DataError(
            f"marks= must give a number for {text!r}, or None for not observed, not {means!r}."
        ) from None
