"""Orders of rows and columns that make the components of a table visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from falsezero.data.read import as_table
from falsezero.data.table import Table

__all__ = [
    "Ordering",
    "by_strongest",
    "order_by_component",
    "order_by_correspondence",
    "ternary_coordinates",
]


@dataclass(frozen=True)
class Ordering:
    """The result of `order_by_component`; all entries are positions, not labels.

    Attributes
    ----------
    rows, columns : array of int
        The table's rows (columns) in their new order.
    components : array of int
        Components in the order in which their rows and columns appear.
    row_component, column_component : array of int
        The strongest component of each row (column), in the *old* order.
    """

    rows: np.ndarray
    columns: np.ndarray
    components: np.ndarray
    row_component: np.ndarray
    column_component: np.ndarray

    @property
    def row_breaks(self) -> np.ndarray:
        """Where, among the ordered rows, the next component begins."""
        return np.flatnonzero(np.diff(self.row_component[self.rows])) + 1

    @property
    def column_breaks(self) -> np.ndarray:
        """Where, among the ordered columns, the next component begins."""
        return np.flatnonzero(np.diff(self.column_component[self.columns])) + 1

    def apply(self, table: Any) -> Table:
        """The table with its rows, columns and labels in this order."""
        known = as_table(table)
        values = known.values[self.rows][:, self.columns]
        return Table(values, known.rows[self.rows], known.columns[self.columns], known.name)


def order_by_correspondence(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of rows and of columns along the first axis of correspondence analysis.

    Rows that share columns come next to each other, and columns that share rows; a table that
    follows a gradient becomes a diagonal band. Empty rows and columns come last.

    >>> rows, columns = order_by_correspondence([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]])
    >>> rows.tolist() in ([0, 2, 1], [1, 2, 0])
    True
    """
    ones = as_table(table).values.copy()
    ones.data = (ones.data == 1).astype(float)
    totals = [np.asarray(ones.sum(axis=axis)).ravel() for axis in (1, 0)]
    scale = [1 / np.sqrt(np.maximum(total, 1.0)) for total in totals]
    scaled = sparse.diags_array(scale[0]) @ ones @ sparse.diags_array(scale[1])
    if min(scaled.shape) <= 3:
        left, _, right = np.linalg.svd(scaled.toarray(), full_matrices=False)
        vectors = left[:, min(1, left.shape[1] - 1)], right[min(1, len(right) - 1)]
    else:
        start = np.random.default_rng(0).random(min(scaled.shape))
        left, values, right = sparse.linalg.svds(scaled, k=2, v0=start)
        vectors = left[:, np.argmin(values)], right[np.argmin(values)]
    rows, columns = (
        np.lexsort((vector * part, total == 0))
        for vector, part, total in zip(vectors, scale, totals, strict=True)
    )
    return rows, columns


def order_by_component(model: Any, table: Any, *, network: bool | None = None) -> Ordering:
    """Group rows by their strongest component, and columns likewise.

    Components come in descending order of the ones they expect, sum_t b_kt, so that blank ones are
    last; within a component the rows it explains best come first (Kabán and Bingham, Figs. 18-20).
    The strongest component of a column is the one that makes most of its ones.

    Parameters
    ----------
    model : fitted model with `components_` and `transform`
    table : Table, array, sparse array or data frame
    network : bool, optional
        Whether rows and columns are the same nodes and share one order, that of the rows. Left out,
        a square table whose rows and columns have the same labels (not mere numbers) is a network.

    Examples
    --------
    >>> import falsezero as fz
    >>> made = fz.datasets.make_aspect_bernoulli(60, 12, 3, concentration=0.05, random_state=0)
    >>> model = fz.BinaryICA(3, random_state=0).fit(made.table)
    >>> order = order_by_component(model, made.table)
    >>> order.apply(made.table).shape, len(order.row_breaks)
    ((60, 12), 2)
    """
    check_is_fitted(model)
    known = as_table(table)
    weights = np.asarray(model.transform(table))
    components = np.argsort(-model.components_.sum(axis=1), kind="stable")
    made = weights.mean(axis=0)[:, None] * model.components_
    rows = _by_strongest(weights, components)
    if network is None:
        named = known.rows.dtype.kind not in "iu"
        network = named and np.array_equal(known.rows, known.columns)
    if network and known.shape[0] != known.shape[1]:
        raise ValueError(
            f"network=True needs the same nodes on both sides, but the table is {known.shape[0]} x "
            f"{known.shape[1]}; leave network= out to order rows and columns separately."
        )
    columns = rows if network else _by_strongest(made.T, components)
    strongest = weights.argmax(axis=1)
    other = strongest if network else made.argmax(axis=0)
    return Ordering(rows, columns, components, strongest, other)


def by_strongest(
    weights: np.ndarray, components: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns grouped by their strongest kept component, the strongest of each first.

    Unlike `order_by_component` it takes plain factors of any model, keeps the order of components
    and leaves removed ones out. Plots and pages use it.

    Returns
    -------
    rows, columns : positions in the new order
    row_groups, column_groups : the component of each, in the new order

    >>> rows, columns, groups, _ = by_strongest(
    ...     np.array([[0.1, 0.9], [0.8, 0.2]]), np.eye(2), np.ones(2))
    >>> rows.tolist(), groups.tolist()
    ([1, 0], [0, 1])
    """
    as_they_are = np.arange(len(components))
    kept = np.abs(weights) * keep
    # A column belongs where it is more frequent than elsewhere, not where the weight is.
    made = np.abs(components).T * (keep > 0)
    rows, columns = _by_strongest(kept, as_they_are), _by_strongest(made, as_they_are)
    return rows, columns, kept.argmax(axis=1)[rows], made.argmax(axis=1)[columns]


def _by_strongest(shares: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Items by the place of their strongest component, then by its share, largest first."""
    strongest = shares.argmax(axis=1)
    place = np.argsort(components)[strongest]
    return np.lexsort((-shares.max(axis=1), place))


def ternary_coordinates(weights: Any) -> np.ndarray:
    """Points in a triangle with unit sides for weights on three components.

    Component 0 is the corner (0, 0), component 1 the corner (1, 0), component 2 the top (Fig. 18 of
    Kabán and Bingham).

    >>> ternary_coordinates([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]).round(3)
    array([[0.   , 0.   ],
           [1.   , 0.   ],
           [0.5  , 0.866],
           [0.5  , 0.   ]])
    """
    shares = np.asarray(weights, dtype=float)
    if shares.ndim != 2 or shares.shape[1] != 3:
        raise ValueError(
            f"A triangle shows weights on 3 components, but these have shape {shares.shape}; fit "
            "with n_components=3, or add components up."
        )
    total = shares.sum(axis=1, keepdims=True)
    shares = np.divide(shares, total, out=np.full_like(shares, 1 / 3), where=total > 0)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    points: np.ndarray = shares @ corners
    return points
