"""Why a one was expected in a cell: the rows most like its row, and the columns that go with it."""

from __future__ import annotations

import numpy as np

from falsezero.data.table import Table

__all__ = ["Reasons"]

_NEAREST = 10
_NAMED = 2
_LINE = 24


class Reasons:
    """Short explanations of single cells, from the table itself.

    The rows most like a row are its nearest by cosine; a column supports another by how much more
    often they occur together than apart, log(P(both) / (P(one) P(other))).
    """

    def __init__(self, table: Table):
        self._table = table
        ones = table.values.copy()
        ones.data = (ones.data == 1).astype(float)
        ones.eliminate_zeros()
        self._ones = ones
        self._row_total = np.asarray(ones.sum(axis=1)).ravel()
        self._column_total = np.asarray(ones.sum(axis=0)).ravel()
        self._by_column = ones.T.tocsr()
        self._near: dict[int, np.ndarray] = {}

    def why(self, row: int, column: int) -> str:
        """Why a one was expected here, in a few words.

        >>> table = Table([[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]], rows=list("abcd"))
        >>> Reasons(table).why(0, 2)
        '2 of the 2 rows most like it have it (b, c); goes with 0, 1'
        """
        near = self._nearest(row)
        have = [i for i in near if self._has(i, column)]
        reasons = []
        if len(near):
            named = ", ".join(_short(self._table.rows[i]) for i in have[:_NAMED])
            share = f"{len(have)} of the {len(near)} rows most like it have it"
            reasons.append(f"{share} ({named})" if named else share)
        friends = self._friends(row, column)
        if friends:
            reasons.append("goes with " + ", ".join(friends))
        return "; ".join(reasons) or "common in this table"

    def _nearest(self, row: int) -> np.ndarray:
        if row not in self._near:
            product = (self._ones[[row]] @ self._by_column).tocsr()
            product.sort_indices()
            others = product.indices != row
            rows, together = product.indices[others], product.data[others]
            cosine = together / np.sqrt(self._row_total[rows] * self._row_total[row])
            self._near[row] = rows[np.argsort(-cosine, kind="stable")[:_NEAREST]]
        return self._near[row]

    def _has(self, row: int, column: int) -> bool:
        start, stop = self._ones.indptr[row : row + 2]
        return bool(column in self._ones.indices[start:stop])

    def _friends(self, row: int, column: int) -> list[str]:
        start, stop = self._ones.indptr[row : row + 2]
        own = self._ones.indices[start:stop]
        if not len(own):
            return []
        has = np.zeros(self._table.shape[0])
        has[self._by_column.indices[slice(*self._by_column.indptr[column : column + 2])]] = 1.0
        together = self._by_column[own] @ has
        n_rows = self._table.shape[0]
        chance = self._column_total[own] * self._column_total[column] / n_rows
        lift = np.log(np.maximum(together, 1e-9) / np.maximum(chance, 1e-9)) * np.sqrt(together)
        best = np.argsort(-lift, kind="stable")[:_NAMED]
        return [_short(self._table.columns[own[i]]) for i in best if lift[i] > 0]


def _short(label: object) -> str:
    text = str(label)
    return text if len(text) <= _LINE else text[: _LINE - 1] + "…"
