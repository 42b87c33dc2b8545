"""Results as tidy tables, without requiring pandas."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from falsezero.data.plain_text import printable, separated
from falsezero.data.rounding import PROBABILITIES, significant

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tidy"]


class Tidy:
    """A small table of results: named columns of equal length, one row per finding.

    ``pandas.DataFrame(tidy)`` and ``polars.DataFrame(tidy)`` make data frames of it.

    >>> found = Tidy(row=["Rudabanya", "Sinap"], probability=[0.91, 0.4])
    >>> found
    row        probability
    Rudabanya         0.91
    Sinap              0.4
    >>> found["probability"].max().item()
    0.91
    >>> Tidy(aic=[22141.2345, 0.00012345])
          aic
      22141.2
    0.0001234
    >>> len(found.head(1)), found.columns
    (1, ['row', 'probability'])
    """

    def __init__(self, columns: Mapping[str, Any] | None = None, /, **more: Any):
        given = {**(columns or {}), **more}
        self._columns = {name: _array(values) for name, values in given.items()}
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"Columns of a table are equally long, but these are not: {lengths}.")

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> Tidy:
        """Build from one mapping per row; `columns` names them where there are no rows."""
        names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
        return cls({name: [row.get(name) for row in rows] for name in names})

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def keys(self) -> list[str]:
        """Names of the columns; what makes `dict(tidy)` work."""
        return self.columns

    def __len__(self) -> int:
        """Number of rows (findings), as a data frame would say."""
        return len(next(iter(self._columns.values()), ()))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_rows())

    def take(self, index: Any) -> Tidy:
        """Rows by position, slice or mask."""
        return Tidy({name: values[index] for name, values in self._columns.items()})

    def head(self, n: int = 10) -> Tidy:
        """The first rows."""
        return self.take(slice(n))

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict per row, of plain Python values (what JSON wants)."""
        plain = {name: values.tolist() for name, values in self._columns.items()}
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(dict(self._columns))

    def to_polars(self) -> Any:
        """As a polars data frame."""
        import polars as pl

        return pl.DataFrame(dict(self._columns))

    def to_arrow(self) -> Any:
        """As a table of pyarrow."""
        import pyarrow as pa

        return pa.table(dict(self._columns))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """What lets polars, DuckDB and others take it as it is (needs pyarrow)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_csv(self, *, raw: bool = False) -> str:
        """As CSV text with a header line.

        Text that a spreadsheet would run as a formula gets an apostrophe in front, unless `raw`.
        """
        return separated([self.columns, *(row.values() for row in self.to_rows())], raw=raw)

    def __repr__(self) -> str:
        shown = self.head(20)
        cells = {n: [n, *(_text(v, n) for v in shown[n].tolist())] for n in self.columns}
        lines = []
        for i in range(len(shown) + 1):
            parts = []
            for name, texts in cells.items():
                width = max(map(len, texts))
                numeric = self[name].dtype.kind in "fiu"
                parts.append(texts[i].rjust(width) if numeric else texts[i].ljust(width))
            lines.append("  ".join(parts).rstrip())
        if len(self) > len(shown):
            lines.append(f"... {len(self) - len(shown)} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(_text(v, n))}</td>" for n, v in row.items())
            + "</tr>"
            for row in self.head(20).to_rows()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _array(values: Any) -> np.ndarray:
    """A one-dimensional array; mixed or nested values become objects."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    values = list(values)
    if any(isinstance(v, (list, tuple, dict, set)) or v is None for v in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _text(value: Any, column: str) -> str:
    if not isinstance(value, float):
        return printable(str(value))
    if 1e3 <= abs(value) < 1e9:
        return f"{value:.1f}"
    return significant(value, 4, is_probability=column in PROBABILITIES)
