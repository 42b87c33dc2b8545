"""How a table is laid out in what it is read from, and how its text is to be understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from falsezero.data.errors import DataError

__all__ = ["Layout", "ReadOptions"]


@dataclass(frozen=True)
class Layout:
    """How a table is laid out: wide, or long with these names for row, column and value."""

    row: str | None = None
    column: str | None = None
    value: str | None = None
    index: str | bool | None = None
    duplicates: str = "error"
    drop: tuple[str, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether one line holds one pair, checked for completeness."""
        if (self.row is None) != (self.column is None):
            given, other = ("row=", "column=") if self.column is None else ("column=", "row=")
            raise DataError(
                f"A long table needs both row= and column=, but only {given} was given; name the "
                f"column for {other} too."
            )
        if self.row is None and self.value is not None:
            raise DataError("value= belongs to a long table; pass row= and column= with it.")
        return self.row is not None

    @property
    def dropped_columns(self) -> tuple[str, ...]:
        """Columns of the file to leave out; in a long table `drop` names labels."""
        return () if self.is_long else self.drop


@dataclass(frozen=True)
class ReadOptions(Layout):
    """Everything that `falsezero.read` hands to the reader of a format."""

    marks: Mapping[str, Any] = field(default_factory=dict)
    layer: str | None = None
    header: bool = True
    skip: int = 0
    delimiter: str | None = None
    encoding: str = "utf-8"
    max_gigabytes: float | None = None
    rows: Any = None
    columns: Any = None

    def given(self) -> list[str]:
        """Names of the options that differ from their defaults.

        >>> ReadOptions(skip=2, layer="raw").given()
        ['layer', 'skip']
        """
        default = ReadOptions()
        names = [each.name for each in fields(self)]
        return [name for name in names if getattr(self, name) != getattr(default, name)]
