"""What is known of the rows of repeated looks, from a list of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.errors import DataError, quote
from falsezero.data.looks import Looks

__all__ = ["join_row_variables"]


def join_row_variables(looks: Looks, known: Any, row: str | None) -> Looks:
    """Add what a file or data frame says of the rows: a column of labels, and columns of numbers.

    Rows that are listed there and were never looked at join the looks, so that they get
    predictions.

    Parameters
    ----------
    looks : Looks
    known : path or data frame
        One line per row; all columns but `row` hold numbers.
    row : str or None
        The column with the labels of the rows; the first one by default.

    Examples
    --------
    >>> import pandas as pd
    >>> visits = Looks([[[1], [0]]], rows=["pond"])
    >>> sites = pd.DataFrame({"site": ["pond", "wood"], "height": [310, 540]})
    >>> joined = join_row_variables(visits, sites, "site")
    >>> joined.rows.tolist(), joined.row_variables["height"].tolist()
    (['pond', 'wood'], [310.0, 540.0])
    """
    from falsezero.data.survey import listing_of

    listing = listing_of(known)
    row = next(iter(listing.columns)) if row is None else row
    labels = listing.labels(row, "row")
    place = _places(listing, labels)
    unknown = [label for label in looks.rows.tolist() if str(label) not in place]
    if unknown:
        raise DataError(
            f"{listing.source} has no line for row {quote(unknown[0])}, which was looked at; every "
            "row needs its variables."
        )
    names = [name for name in listing.columns if name != row]
    if not names:
        raise DataError(f"{listing.source} has no column beside {quote(row)}, so it says nothing.")
    looked = {str(label) for label in looks.rows.tolist()}
    more = [label for label in labels if str(label) not in looked]
    rows = looks.rows.tolist() + more
    order = [place[str(label)] for label in rows]
    values = {name: _numbers(listing, name)[order] for name in names}
    return _with_rows(looks, rows, len(more), values)


def _places(listing: Any, labels: list[Any]) -> dict[str, int]:
    """Where each row is listed; twice is refused."""
    place: dict[str, int] = {}
    for position, label in enumerate(labels):
        if str(label) in place:
            first = listing.place(place[str(label)])
            raise DataError(
                f"{listing.place(position)} repeats row {quote(label)} (first: {first}); a row has "
                "one line."
            )
        place[str(label)] = position
    return place


def _numbers(listing: Any, name: str) -> np.ndarray:
    numbers: np.ndarray = listing.numbers(name)
    if not np.isfinite(numbers).all():
        where = listing.place(int(np.argmin(np.isfinite(numbers))))
        raise DataError(
            f"{where} has no number in column {quote(name)}; fill it in, or leave the column out."
        )
    return numbers


def _with_rows(looks: Looks, rows: list[Any], n_more: int, values: dict[str, Any]) -> Looks:
    """The looks with rows that nobody looked at appended, and with variables of all rows."""

    def longer(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros((n_more, *array.shape[1:]), dtype=array.dtype)])

    observers = looks.observers
    return looks.with_store(
        looks.store.with_rows(n_more),
        rows=rows,
        observers=None if observers is None else longer(observers),
        variables={name: longer(array) for name, array in looks.variables.items()},
        row_variables={**looks.row_variables, **values},
    )
