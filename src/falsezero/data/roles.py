"""What the columns of a file seem to hold: labels, marks, measurements, or words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from falsezero.data.cells import MEANINGS, CellNumbers, NotANumber, is_number

__all__ = ["Survey", "is_total", "long_roles"]

_ENOUGH = 10
"""Minimum number of lines for judging that no label repeats."""

_SAID_OF = {
    "row": "site plot locality location station transect quadrat sample cell barcode document doc "
    "user customer basket order subject patient participant person member senator legislator row "
    "camera respondent",
    "column": "species taxon genus family item product gene feature word term token vote bill "
    "question symptom label scientificname column",
    "look": "visit survey replicate rep occasion night day date round look year session",
    "value": "value count counts abundance n number individuals present presence detected "
    "occurrence frequency cover status",
}
"""Words in the name of a column that show what it holds."""

_LABELS = {
    role: set(words.split()) if role in ("row", "column") else set()
    for role, words in _SAID_OF.items()
}
"""A site_id is a site, but a date_of_entry is not the date of a look."""

_TOTALS = {"total", "totals", "totale", "sum", "summe", "somme", "gesamt", "richness"}
_TOTALS |= {"mean", "average", "mittelwert"}
_NAMES = {"id", "ids", "name", "names", "code", "key", "no", "nr", "number", *_LABELS["row"]}


def long_roles(names: Sequence[str], lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Which columns hold the row, the column, the look and the value; none if the file is wide.

    >>> long_roles(["site", "species"], [["A", "Sus"], ["B", "Bos"]])
    {'row': 'site', 'column': 'species'}
    """
    called = {role: [name for name in names if _is_called(name, role)] for role in _SAID_OF}
    texts = [name for at, name in enumerate(names) if _is_text(_entries(lines, at))]
    label = [name for name in texts if name not in called["look"] + called["value"]]
    rows = [*called["row"], *(name for name in label if name not in called["column"])]
    row = next(iter(rows), None)
    columns = [*called["column"], *(name for name in label if name not in called["row"])]
    column = next((name for name in columns if name != row), None)
    if row is None or column is None:
        return {}
    listed = [_entries(lines, names.index(name)) for name in (row, column)]
    is_named = row in called["row"] and column in called["column"]
    repeated = [len(set(each)) < len(each) for each in listed]
    if len(lines) >= _ENOUGH and not (any(repeated) if is_named else all(repeated)):
        return {}
    if not _are_names(listed[1]):
        return {}
    roles = {"row": row, "column": column}
    for role in ("look", "value"):
        found = next((name for name in called[role] if name not in roles.values()), None)
        if found is not None:
            roles[role] = found
    return roles


def is_total(name: str) -> bool:
    """Whether a row or column is called like a sum over the others.

    >>> is_total("Species total"), is_total("TOTAL"), is_total("Totanus totanus")
    (True, True, False)
    """
    return bool(_TOTALS.intersection(_words(name)))


class Survey:
    """What the columns of a wide file hold, seen in its first lines.

    `words` are the columns whose entries are mostly neither numbers nor known marks, and stand in
    no other column; `beside` those with numbers that are no 0 and 1 where most columns have nothing
    else; and `marks` the texts that stand in the other columns and mean nothing yet.
    """

    def __init__(self, names: Sequence[str], lines: Sequence[Sequence[str]], cells: CellNumbers):
        self.names = list(names)
        self.entries = [_entries(lines, at) for at in range(len(names))]
        unknown = [[text for text in each if _value(cells, text) is None] for each in self.entries]
        columns_with = Counter(text for bad in unknown for text in set(bad))
        self.words = [
            name
            for name, each, bad in zip(names, self.entries, unknown, strict=True)
            if 2 * len(bad) > len(each) and all(columns_with[text] == 1 for text in set(bad))
        ]
        self.unknown = dict(zip(names, unknown, strict=True))
        others = [at for at, name in enumerate(names) if name not in self.words]
        odd = [names[at] for at in others if _has_other_numbers(cells, self.entries[at])]
        self.beside = odd if 2 * len(odd) < len(others) else [n for n in odd if is_total(n)]
        self.marks = sorted({text for at in others for text in unknown[at]})

    def label_column(self, taken: str | None) -> str | None:
        """The column that names the rows: the one taken, unless another is called a name."""
        unique = [
            name
            for name, each in zip(self.names, self.entries, strict=True)
            if len(set(each)) == len(each) and _is_text(each)
        ]
        if taken in unique and (_NAMES.intersection(_words(str(taken))) or len(unique) == 1):
            return taken
        called = [name for name in unique if _NAMES.intersection(_words(name))]
        return next(iter([*called, *unique]), None)


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())


def _is_called(name: str, role: str) -> bool:
    words = _words(name)
    if not words or (role == "column" and is_total(name)):
        return False
    return words[-1] in _SAID_OF[role].split() or words[0] in _LABELS[role]


def _entries(lines: Sequence[Sequence[str]], at: int) -> list[str]:
    return [line[at].strip() for line in lines if at < len(line) and line[at].strip()]


def _is_text(entries: Sequence[str]) -> bool:
    return 2 * sum(not is_number(entry) for entry in entries) > len(entries)


def _are_names(entries: Sequence[str]) -> bool:
    """Whether a column holds names, and not a few marks such as P and A, or yes and no."""
    marks = sum(entry.lower() in MEANINGS for entry in entries)
    return 2 * marks < len(entries) and len(set(entries)) > 1 and max(map(len, entries)) > 1


def _value(cells: CellNumbers, text: str) -> float | None:
    try:
        return cells[text]
    except NotANumber:
        return None


def _has_other_numbers(cells: CellNumbers, entries: Sequence[str]) -> bool:
    values = [_value(cells, text) for text in entries]
    return any(value not in (None, 0.0, 1.0) and value == value for value in values)
