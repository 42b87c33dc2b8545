"""Where the data sets lie, and the few readers that all loaders share."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.errors import DataError, suggest
from falsezero.data.lines import TextFile
from falsezero.data.looks import Looks
from falsezero.data.table import Table

__all__ = ["VARIABLE", "Dataset", "DatasetNotFoundError", "Folder", "choose"]

VARIABLE = "FALSEZERO_DATA"


class DatasetNotFoundError(FileNotFoundError):
    """A data set that is not on this machine."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with what is known about its rows and columns.

    `target` holds one class or number per row where there is one; `row_info` and `column_info` hold
    further named columns, one entry per row (a column) of the table; `image_shape` the height and
    width where a row is a picture. Where cells were looked at repeatedly, `looks` holds what each
    look recorded, rows x looks x columns, NaN where nobody looked, and `look_info` named arrays
    of rows x looks; `to_looks` puts them together.
    """

    table: Table
    target: NDArray[Any] | None = None
    row_info: dict[str, NDArray[Any]] = field(default_factory=dict)
    column_info: dict[str, NDArray[Any]] = field(default_factory=dict)
    description: str = ""
    citation: str = ""
    image_shape: tuple[int, int] | None = None
    looks: NDArray[Any] | None = None
    look_info: dict[str, NDArray[Any]] = field(default_factory=dict)

    def to_looks(self) -> Looks:
        """The repeated looks with their variables and those of their rows, as `audit` takes them.

        Variables are what `look_info` and `row_info` hold in numbers.
        """
        if self.looks is None:
            raise DataError("The cells of this data set were looked at once; use its table.")
        return Looks(
            self.looks,
            rows=self.table.rows,
            columns=self.table.columns,
            variables=_numbers(self.look_info),
            row_variables=_numbers(self.row_info),
            name=self.table.name,
        )

    def __repr__(self) -> str:
        known = ", ".join(self.row_info) or "nothing"
        return f"{self.description}\nknown about rows: {known}\n{self.table!r}"


class Folder:
    """The folder of one data set below the folder that FALSEZERO_DATA names."""

    def __init__(self, name: str) -> None:
        root = os.environ.get(VARIABLE)
        if not root:
            raise DatasetNotFoundError(
                f"The data set {name!r} is read from the folder that the environment variable "
                f"{VARIABLE} names, but {VARIABLE} is not set."
            )
        self.name = name
        self.path = Path(root) / name
        if not self.path.is_dir():
            raise DatasetNotFoundError(
                f"The data set {name!r} is not in {root}, the folder that {VARIABLE} names."
            )

    def file(self, name: str) -> Path:
        """Path of a file that must exist."""
        path = self.path / name
        if not path.is_file():
            raise DatasetNotFoundError(
                f"The data set {self.name!r} lacks the file {name} in the folder that "
                f"{VARIABLE} names."
            )
        return path

    def sparse(self, name: str) -> Any:
        """Read a scipy sparse matrix."""
        return sp.csr_array(sp.load_npz(self.file(name)))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Read the arrays of an npz file."""
        with np.load(self.file(name), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}

    def lines(self, name: str) -> NDArray[Any]:
        """Read a list of names, one per line."""
        text = self.file(name).read_text(encoding="utf-8")
        return np.array(text.removesuffix("\n").split("\n"), dtype=np.str_)

    def columns(self, name: str) -> dict[str, NDArray[Any]]:
        """Read a CSV file, gzipped or not, as named columns of numbers, yes and no, or text."""
        records = TextFile(self.file(name)).records()
        _, header = next(records)
        fields = zip(*(row for _, row in records), strict=True)
        return {key: _typed(column) for key, column in zip(header, fields, strict=True)}

    def dataset(self, table: Table, **known: Any) -> Dataset:
        """Put a table together with the description and citation of its README."""
        readme = self.file("README.md").read_text(encoding="utf-8")
        cite = re.search(r"\*\*Original source / cite:\*\* *(.+)", readme)
        title = readme.splitlines()[0].lstrip("# ")
        citation = cite[1].strip() if cite else ""
        return Dataset(table, description=title, citation=citation, **known)


def choose(name: str, value: str, known: tuple[str, ...]) -> str:
    """Check a choice among a few names."""
    if value not in known:
        raise ValueError(f"{name}={value!r} is not known; {suggest(value, known, 'choose one of')}")
    return value


def _numbers(info: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: values for name, values in info.items() if np.asarray(values).dtype.kind in "iuf"}


def _typed(column: tuple[str, ...]) -> NDArray[Any]:
    if set(column) <= {"True", "False"}:
        return np.array([entry == "True" for entry in column])
    try:
        numbers = np.array([float(entry) if entry else np.nan for entry in column])
    except ValueError:
        return np.array(column, dtype=np.str_)
    is_whole = all(entry.lstrip("-").isdecimal() for entry in column)
    return numbers.astype(np.int64) if is_whole else numbers
