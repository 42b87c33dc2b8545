"""Messages about text files that cannot be read as they are, with the options that help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from falsezero.data.cells import is_number
from falsezero.data.errors import quote
from falsezero.data.lines import Lines
from falsezero.data.roles import Survey, is_total, long_roles

__all__ = ["TextCell", "ragged", "remedies_for_text", "skip_to_header", "total_row"]

_SAMPLE = 200
_ABOVE = 30
"""Number of lines in which to look for the header."""

_A_MARK = 3
"""Texts up to this length may be marks even with digits, such as the cover grade 2m."""

_A_LIST = 4
"""A file with text and at most this many columns is probably a list of pairs."""

_A_WORD, _MOST_MARKS = 40, 4


def quote_name(name: object) -> str:
    """A quoted name, long enough to be pasted into an option."""
    return quote(name, limit=300)


class TextCell(NamedTuple):
    """A text where a number belongs, and the row label of its line."""

    column: str
    text: str
    label: str


def remedies_for_text(
    file: Lines, names: Sequence[str], found: TextCell, taken: str, index: Any, drop: Sequence[str]
) -> str:
    """Options that may help with a wide file that has text in one of its columns.

    `taken` is the column that was taken for the row labels, unless `index` says which is.
    """
    header = _header_below(file, names)
    if header is not None:
        return f"skip={header - 1} if the names of the columns stand in line {header}"
    roles = {} if index is not None else long_roles(names, _sample(file))
    may_name = index is None and bool(found.label) and is_number(found.label)
    if roles:
        pair = f"row={quote_name(roles['row'])} and column={quote_name(roles['column'])}"
        ways = [f"{pair} if every line is one find"]
    elif len(names) <= _A_LIST:
        first, second = map(quote_name, names[:2])
        ways = [f"row={first} and column={second} if every line is one find"]
    else:
        survey = _survey(file, names, drop)
        answer = _leave_out_columns(survey, found.column, taken, index)
        if answer:
            return answer
        ways = [f"drop={quote_name(found.column)} to leave that column out"]
        if _may_be_mark(found.text) and len(set(survey.unknown[found.column])) <= _MOST_MARKS:
            ways.insert(0, _meanings(survey.marks, found.text))
    if may_name:
        ways.append(f"index={quote_name(found.column)} if that column names the rows")
    return ", or ".join(ways)


def _header_below(file: Lines, names: Sequence[str]) -> int | None:
    """The line with the names of the columns, where a title was taken for them.

    A title with one delimiter in it is one field short, as the first line of a table that R wrote
    is; but the line below it holds words only, and lines below that hold numbers.
    """
    records = list(islice(file.records(), _SAMPLE))
    if not file.header or names[0] or len(records) < 3 or len(records[0][1]) >= len(names):
        return None
    words, *below = [fields for _, fields in records[1:]]
    decimal = "," if file.cut == ";" else "."

    def has_number(fields: Sequence[str]) -> bool:
        return any(is_number(field.strip().replace(decimal, ".")) for field in fields)

    is_header = not has_number(words) and all(map(has_number, below))
    return records[1][0] if is_header else None


def _may_be_mark(text: str) -> bool:
    is_word = len(text) <= _A_WORD and not any(letter.isdigit() for letter in text)
    return len(text) <= _A_MARK or is_word


def _survey(file: Lines, names: Sequence[str], drop: Sequence[str]) -> Survey:
    kept = [position for position, name in enumerate(names) if name not in drop]
    lines = [
        [line[position] if position < len(line) else "" for position in kept]
        for line in _sample(file)
    ]
    return Survey([names[position] for position in kept], lines, file.cells())


def _leave_out_columns(survey: Survey, column: str, taken: str, index: Any) -> str:
    """One remedy for all columns that do not belong to the table; empty if there is only one."""
    named = taken if index is not None else survey.label_column(taken) or taken
    useless = {*survey.words, *survey.beside, *[taken] * (named != taken)} - {named}
    if column not in survey.words or (len(useless) < 2 and named == taken):
        return ""
    settings = [f"index={quote_name(named)}"] * (named != taken)
    if useless:
        listed = ", ".join(quote_name(name) for name in survey.names if name in useless)
        settings.append(f"drop=[{listed}]")
    return f"{' and '.join(settings)} if the other columns hold the table"


def _meanings(marks: Sequence[str], text: str) -> str:
    """The possible meanings of a text; words such as "don't know" are listed together."""
    words = [mark for mark in marks if len(mark) > _A_MARK]
    if len(text.strip()) <= _A_MARK or text.strip() not in words or len(words) > _MOST_MARKS:
        words = [text.strip()]
    if len(words) == 1:
        mark = f"marks={{{quote_name(words[0])}: 1}}"
        return f"{mark} if it means present (0: absent, None: not observed)"
    listed = ", ".join(f"{quote_name(word)}: None" for word in words)
    return f"marks={{{listed}}} if they mean not observed (1: present, 0: absent)"


def ragged(file: Lines, source: str, names: Sequence[str], place: tuple[int, int, int]) -> str:
    """The message about a line whose number of fields differs from the header's.

    `place` is the line, the number of its fields, and the line of the header.
    """
    line, found, header = place
    expected = len(names)
    remedy = ""
    if found < expected:
        remedy = "; the file may be cut off there"
    else:
        above = skip_to_header(file)
        if above >= header:
            remedy = f"; pass skip={above} if the names of the columns stand in line {above + 1}"
    fields = "1 field" if found == 1 else f"{found} fields"
    return f"{source} line {line} has {fields} where the header has {expected}{remedy}."


def skip_to_header(file: Lines) -> int:
    """Number of lines above the header: those that are at least half empty."""
    first = [
        (line, sum(bool(field.strip()) for field in fields))
        for line, fields in islice(file.records(), _ABOVE)
    ]
    most = max((filled for _, filled in first), default=0)
    return next((line for line, filled in first if 2 * filled > most), 1) - 1


def total_row(label: str) -> list[str]:
    """A hint if the label of a row is that of a total."""
    return [f"drop={quote_name(label)} to leave that row out"] * is_total(label)


def _sample(file: Lines) -> list[list[str]]:
    records: Iterator[Any] = islice(file.records(), int(file.header), _SAMPLE)
    return [fields for _, fields in records]
