"""Row and column names: one normal form, no duplicates, quick look-up."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import DataError, quote, suggest

__all__ = [
    "are_row_numbers",
    "as_labels",
    "find_label",
    "is_readable_text",
    "pick",
    "spelling_warning",
    "text_array",
    "tidy_labels",
]

Labels = NDArray[Any]

_WIDEST = 1 << 28
"""Bytes that labels of very uneven length may take together."""


def as_labels(labels: Any, size: int, axis: str) -> Labels:
    """Normalise names of one axis to an int64 or text array without duplicates.

    `None` gives the positions 0, 1, 2, ...; whole numbers stay numbers, everything else becomes
    text.

    >>> as_labels(["a", "b"], 2, "row")
    array(['a', 'b'], dtype='<U1')
    >>> as_labels(["a", "a"], 2, "row")
    Traceback (most recent call last):
    ...
    falsezero.data.errors.DataError: The row label 'a' is used twice (rows 0 and 1); \
give every row a name of its own.
    """
    if labels is None:
        return np.arange(size)
    names = tidy_labels(labels, axis)
    if names.shape != (size,):
        raise DataError(f"The table has {size} {axis}s but {names.size} {axis} labels were given.")
    twice = first_duplicate(names)
    if twice is not None:
        raise DataError(
            f"The {axis} label {quote(names[twice[0]].item())} is used twice ({axis}s {twice[0]} "
            f"and {twice[1]}); give every {axis} a name of its own."
        )
    return names


def tidy_labels(labels: Any, axis: str = "row") -> Labels:
    """Turn any list of names into an int64 or text array."""
    if isinstance(labels, str):
        raise DataError(f"The {axis} labels must be a list of names, not the text {quote(labels)}.")
    names = np.asarray(labels if hasattr(labels, "__array__") else _object_array(labels))
    if names.ndim != 1:
        raise DataError(f"The {axis} labels must be one-dimensional, not of shape {names.shape}.")
    if names.dtype.kind in "iu" and _fits(names):
        return names.astype(np.int64)
    if names.dtype.kind == "U":
        if not is_readable_text(names):
            raise DataError(f"The {axis} labels hold bytes that are no text; give names as text.")
        return names.copy()
    if names.dtype.kind == "O" and all(_is_whole(name) for name in names) and _fits(names):
        return names.astype(np.int64)
    for position, name in enumerate(names):
        if name is None or name != name:
            raise DataError(f"The label of {axis} {position} is missing; give every {axis} a name.")
    return text_array([_text(name) for name in names], axis)


def is_readable_text(names: NDArray[Any]) -> bool:
    """Whether an array of text holds characters only: arrays from files may hold any four bytes.

    >>> is_readable_text(np.array(["Sus"])), is_readable_text(np.full(1, -1).view("<U2"))
    (True, False)
    """
    codes = np.ascontiguousarray(names).reshape(-1).view(f"{names.dtype.byteorder}u4")
    return codes.size == 0 or int(codes.max()) <= sys.maxunicode


def text_array(names: list[str], axis: str = "row") -> Labels:
    """Names as an array of text, which gives each the width of the longest.

    >>> text_array(["a", "bc"])
    array(['a', 'bc'], dtype='<U2')
    """
    longest = max(names, key=len, default="")
    needed = 4 * len(names) * len(longest)
    if needed > max(_WIDEST, 32 * sum(map(len, names))):
        raise DataError(
            f"The {axis} label {quote(longest)} has {len(longest)} characters, and with it "
            f"{len(names)} labels take {needed / 1e9:.1f} GB; shorten it."
        )
    return np.array(names, dtype=np.str_)


def first_duplicate(names: Labels) -> tuple[int, int] | None:
    """Give the first two positions that hold the same name, or None."""
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    if first.size == names.size:
        return None
    second = int(np.flatnonzero(first[codes] != np.arange(names.size))[0])
    return int(first[codes[second]]), second


def are_row_numbers(values: Any) -> bool:
    """Whether at least three values count 1, 2, 3, ...: they are row numbers then, not data.

    >>> are_row_numbers([101, 102, 103]), are_row_numbers(["0", "1"]), are_row_numbers([3, 1, 2])
    (True, False, False)
    """
    numbers = np.asarray(values).astype(np.float64)
    return numbers.size >= 3 and bool(np.all(np.diff(numbers) == 1))


def may_be_ids(values: Any) -> bool:
    """Whether at least three values are different whole numbers, which may be row names.

    >>> may_be_ids(["1004", "17", "23"]), may_be_ids(["1", "0", "1"]), may_be_ids(["0.5", "2", "3"])
    (True, False, False)
    """
    texts = [str(value) for value in values]
    is_whole = all(text.lstrip("-").isdecimal() for text in texts)
    return is_whole and len(texts) >= 3 and len(set(texts)) == len(texts)


def ids_warning(source: str, column: object) -> str:
    """What to say of a first column that was read as values and may be names of rows."""
    return (
        f"{source} holds another whole number in every row of its first column, {column!r}, which "
        f"is read as values; pass index={column!r} if they name the rows, or index=False if not."
    )


def spelling_warning(source: str, names: Labels, axis: str) -> str | None:
    """What to say of labels that differ only in case or blanks, which people type in lists.

    >>> spelling_warning("t.csv", np.array(["Red fox", "RED  FOX"]), "column")
    "t.csv has columns that differ only in case or blanks, as 'Red fox' and 'RED  FOX' do; they \
count as different."
    """
    if names.dtype.kind != "U":
        return None
    known: dict[str, str] = {}
    for name in names.tolist():
        other = known.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            return (
                f"{source} has {axis}s that differ only in case or blanks, as {quote(other)} and "
                f"{quote(name)} do; they count as different."
            )
    return None


def find_label(label: Hashable, lookup: dict[Any, int], axis: str) -> int:
    """Give the position of a name, or say which names come close."""
    if isinstance(label, np.generic):
        label = label.item()
    if label in lookup:
        return lookup[label]
    for other in (_text(label), _as_whole(label)):
        if other is not None and other in lookup:
            return lookup[other]
    raise DataError(
        f"There is no {axis} labelled {quote(label)}; {suggest(label, lookup, f'its {axis}s')}"
    )


def pick(wanted: Any, names: Labels, lookup: dict[Any, int], axis: str) -> NDArray[np.intp]:
    """Turn labels, positions, a slice or a boolean mask into positions."""
    size = names.size
    if wanted is None:
        return np.arange(size)
    if isinstance(wanted, slice):
        return np.arange(size)[wanted]
    if isinstance(wanted, str) or np.ndim(wanted) == 0:
        wanted = [wanted]
    chosen = wanted if isinstance(wanted, np.ndarray) else _object_array(list(wanted))
    is_mask = chosen.size > 0 and all(isinstance(entry, bool | np.bool_) for entry in chosen)
    if chosen.dtype == bool or is_mask:
        if chosen.shape != (size,):
            raise DataError(f"The {axis} mask has {chosen.size} entries for {size} {axis}s.")
        return np.flatnonzero(chosen.astype(bool))
    positions = names.dtype.kind != "i" and all(_is_whole(c) for c in chosen)
    if not positions:
        return np.array([find_label(label, lookup, axis) for label in chosen], dtype=np.intp)
    picked = chosen.astype(np.intp)
    outside = picked[(picked < -size) | (picked >= size)]
    if outside.size:
        raise DataError(f"There is no {axis} at position {outside[0]}; the table has {size}.")
    return picked % size if size else picked


def _object_array(items: Any) -> NDArray[Any]:
    listed = list(items)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _fits(numbers: NDArray[Any]) -> bool:
    """Whether whole numbers are small enough to stay numbers; longer ones are text."""
    limits = np.iinfo(np.int64)
    return not numbers.size or (numbers.min() >= limits.min and numbers.max() <= limits.max)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _as_whole(value: object) -> int | None:
    is_whole = isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isdecimal()
    return int(value) if is_whole else None  # type: ignore[call-overload]


def _text(name: object) -> str:
    if isinstance(name, tuple):
        # Levels of a MultiIndex.
        return " / ".join(map(_text, name))
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
