"""Small files beside a table: a value for each label, or a list of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.errors import DataError
from falsezero.data.guess import preview

__all__ = ["read_labelled_values", "read_pairs"]

_ALL = 1 << 31


def read_labelled_values(path: Any) -> dict[str, Any]:
    """Labels and what is known of each: numbers where all of them are, else text.

    The first line is a header. An empty value is NaN among numbers and None among texts.
    """
    pairs = read_pairs(path)
    values = [value for _, value in pairs]
    try:
        known: list[Any] = [float(value) if value else np.nan for value in values]
    except ValueError:
        known = [value or None for value in values]
    return dict(zip((label for label, _ in pairs), known, strict=True))


def read_pairs(path: Any) -> list[tuple[str, str]]:
    """The first two fields of every line below the header."""
    names, lines = preview(path, _ALL)
    if len(names) < 2:
        raise DataError(f"{path} must have two columns and a header.")
    return [(line[0].strip(), line[1].strip()) for line in lines]
