"""Find noise components, and show the table without them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from falsezero.base.capabilities import capabilities_of
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.data.validate import check_table, labels_of

__all__ = ["Denoised", "Phantoms", "check_convex", "denoise", "find_phantoms", "resolve_keep"]

_MOST_DENSE = 1 << 28
"""Cells that a dense table may have: two gigabytes, and as much again while it is made."""

_AT_A_TIME = 4_000_000
"""Cells that are made dense at a time."""


@dataclass(frozen=True)
class Phantoms:
    """The kind of each component, as returned by `find_phantoms`.

    Attributes
    ----------
    kinds : array of str
        "content", "white" (makes zeros nearly everywhere: omissions) or "black" (makes ones nearly
        everywhere: additions), one per component.
    weights : array
        Mean weight of each component over the training rows.
    one_rate, zero_rate : array
        How often a component makes a one (a zero), divided by how often the table has one. A white
        phantom has a `one_rate` near 0, a black one a `zero_rate` near 0.
    threshold : float
        The rate below which a component was called a phantom.
    """

    kinds: np.ndarray
    weights: np.ndarray
    one_rate: np.ndarray
    zero_rate: np.ndarray
    threshold: float

    @property
    def white(self) -> np.ndarray:
        """Components that make zeros only."""
        return np.flatnonzero(self.kinds == "white")

    @property
    def black(self) -> np.ndarray:
        """Components that make ones only."""
        return np.flatnonzero(self.kinds == "black")

    @property
    def content(self) -> np.ndarray:
        """Components that are not phantoms."""
        return np.flatnonzero(self.kinds == "content")

    @property
    def keep(self) -> np.ndarray:
        """P(u|k) for `reconstruct`: 0 for phantoms, 1 for content."""
        return np.isin(self.kinds, ["content"]).astype(float)

    @property
    def table(self) -> Tidy:
        """One row per component."""
        return Tidy(
            component=np.arange(len(self.kinds)),
            kind=self.kinds,
            weight=self.weights,
            one_rate=self.one_rate,
            zero_rate=self.zero_rate,
        )

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def find_phantoms(model: Any, *, threshold: float = 1 / 3) -> Phantoms:
    """Which components are noise: white phantoms (omissions) and black phantoms (additions).

    Bingham et al. recognise a white phantom by a_kt close to 0 for all columns t. How close depends
    on the table: where 5 % of the cells are ones, every component has a small mean. Components are
    therefore compared with the density of the table. A component is white if it makes ones at less
    than `threshold` times the rate of the table, and in no column more often than not; it is black
    if it makes zeros at less than `threshold` times the rate of the table.

    Parameters
    ----------
    model : fitted model with `components_` and `row_weights_`
    threshold : float, default=1/3

    Examples
    --------
    >>> import falsezero as fz
    >>> clean = fz.datasets.make_aspect_bernoulli(
    ...     400, 50, 3, concentration=0.1, shape=(0.2, 0.3), random_state=0
    ... ).table
    >>> spoilt = fz.corrupt(clean, omit=0.6, random_state=0)
    >>> model = fz.AspectBernoulli(4, prior=0, n_init=3, random_state=0).fit(spoilt)
    >>> fz.find_phantoms(model).kinds.tolist()
    ['white', 'content', 'content', 'content']
    """
    check_convex(model)
    components = model.components_
    weights = model._average_weights
    mean = components.mean(axis=1)
    density = min(max(float(weights @ mean), 1e-12), 1 - 1e-12)
    one_rate = mean / density
    zero_rate = (1 - mean) / (1 - density)
    kinds = np.full(len(mean), "content", dtype="<U7")
    kinds[(one_rate < threshold) & (components.max(axis=1) < 0.5)] = "white"
    kinds[zero_rate < threshold] = "black"
    return Phantoms(kinds, weights, one_rate, zero_rate, threshold)


def check_convex(model: Any) -> None:
    """Refuse models in which a cell is not made by a single component."""
    check_is_fitted(model)
    if not capabilities_of(model).cell_has_cause:
        raise TypeError(
            f"In {type(model).__name__} a cell is not made by a single component, so none can be "
            "called noise or held responsible; fit AspectBernoulli or BinaryICA."
        )


def check_probability(name: str, value: float) -> None:
    """Refuse percentages and the like where a probability belongs.

    >>> check_probability("threshold", 50)
    Traceback (most recent call last):
    ...
    ValueError: threshold=50 is no probability; give a number from 0 to 1, as in threshold=0.5.
    """
    if not 0 <= value <= 1:
        raise ValueError(
            f"{name}={value:g} is no probability; give a number from 0 to 1, as in {name}=0.5."
        )


def resolve_keep(model: Any, keep: Any = None) -> np.ndarray:
    """P(u|k) as given; by default 0 for phantoms and 1 for other components."""
    if keep is not None:
        return np.asarray(keep, dtype=float)
    found = find_phantoms(model)
    if not len(found.content):
        raise ValueError(
            "Every component of this fit is a phantom, so nothing would be left; "
            "fit more components, or say with keep= which ones to keep."
        )
    return found.keep


def keep_of_rows(keep: np.ndarray, rows: Any) -> np.ndarray:
    """P(u|k) of some rows, where it may differ from row to row."""
    return keep if keep.ndim == 1 else keep[rows]


@dataclass(frozen=True, repr=False)
class Denoised:
    """A table without its noise components: `probability` of a one per cell, and `binary`.

    Both are computed on first use; `binary` never builds the dense table. `summary` describes what
    `binary` changed.
    """

    model: Any = field(repr=False)
    keep: np.ndarray
    weights: np.ndarray = field(repr=False)
    """Row weights with the noise removed."""
    rows: np.ndarray = field(repr=False)
    columns: np.ndarray = field(repr=False)
    threshold: float = 0.5
    recorded: sparse.csr_array | None = field(default=None, repr=False)
    """The original table: ones, and NaN for cells not observed."""
    changes_ones: bool = True
    """Whether a recorded one may become a zero."""

    @cached_property
    def probability(self) -> Table:
        """Probability that each cell is a one once noise is removed."""
        shape = (len(self.rows), len(self.columns))
        if shape[0] * shape[1] > _MOST_DENSE:
            raise ValueError(
                f"The probabilities of all cells of a {shape[0]} x {shape[1]} table take too much "
                "memory; ask for binary, which stays sparse, or denoise some rows at a time."
            )
        return Table(self.model._expected(self.weights), rows=self.rows, columns=self.columns)

    @cached_property
    def binary(self) -> Table:
        """The probability rounded to zeros and ones."""
        step = max(1, _AT_A_TIME // len(self.columns))
        parts = [
            sparse.csr_array(self.model._expected(self.weights[i : i + step]) >= self.threshold)
            for i in range(0, len(self.weights), step)
        ]
        ones = sparse.vstack(parts, format="csr", dtype=float)
        if not self.changes_ones and self.recorded is not None:
            ones = ones.maximum(_where(self.recorded, 1.0))
        return Table(ones, rows=self.rows, columns=self.columns)

    @property
    def changes(self) -> dict[str, int]:
        """How many cells of `binary` differ from the record.

        Zeros made ones, ones made zeros, ones put where nothing was observed, and columns that had
        ones and have none left.
        """
        if self.recorded is None:
            raise ValueError("The recorded table was not kept; use falsezero.denoise.")
        after, ones = self.binary.values, _where(self.recorded, 1.0)
        unknown = _where(self.recorded, np.nan)
        in_unknown = int(after.multiply(unknown).sum())
        kept = int(after.multiply(ones).sum())
        emptied = (ones.sum(axis=0) > 0) & (after.sum(axis=0) == 0)
        return {
            "zeros made ones": int(after.sum()) - kept - in_unknown,
            "ones made zeros": int(ones.sum()) - kept,
            "ones where nothing was observed": in_unknown,
            "columns left without ones": int(emptied.sum()),
        }

    @property
    def summary(self) -> str:
        """What `binary` changed, in one sentence."""
        changed = [f"{number:,} {what}" for what, number in self.changes.items() if number]
        return f"Changed: {', '.join(changed)}." if changed else "Changed nothing."

    def __repr__(self) -> str:
        removed = np.flatnonzero(self.keep.reshape(-1, self.keep.shape[-1]).min(axis=0) == 0)
        noun = "component" if len(removed) == 1 else "components"
        without = f" without {noun} {', '.join(map(str, removed))}" if len(removed) else ""
        size = f"{len(self.rows)} rows × {len(self.columns)} columns"
        return f"Denoised: {size}{without}; see .binary, .probability and .summary"

    def _repr_html_(self) -> str:
        return f"<p>{self.summary}</p>{self.binary._repr_html_()}"


def _where(values: sparse.csr_array, value: float) -> sparse.csr_array:
    """Ones where a sparse table holds this value."""
    hits = np.isnan(values.data) if np.isnan(value) else values.data == value
    found = sparse.csr_array((hits.astype(float), values.indices, values.indptr), values.shape)
    found = found.copy()
    found.eliminate_zeros()
    return found


def denoise(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    threshold: float = 0.5,
    change_ones: bool | None = None,
) -> Denoised:
    """The table without its noise components (Bingham et al., section 3.4).

    The weights of noise components are set to zero, the others are renormalised, and the table is
    computed again.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
        Given `keep`, any model of zeros and ones.
    table : Table, array, sparse array or data frame
        The training table or new rows with the same columns.
    keep : array, optional
        P(u|k), how far each component is content: one number in [0, 1] per component, or per row
        and component. By default the phantoms found by `find_phantoms` are removed.
    threshold : float, default=0.5
        A cell of `binary` is one where its probability is at least this.
    change_ones : bool, optional
        Whether a recorded one may become a zero. By default only if a component is removed: a fit
        without noise gives no reason to doubt a one.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(50, 10, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, prior=0, random_state=0).fit(table)
    >>> clean = fz.denoise(model, table, keep=[1, 1, 0])
    >>> clean.probability.shape, clean.binary.is_binary
    ((50, 10), True)
    """
    check_probability("threshold", threshold)
    keep = resolve_keep(model, keep)
    if capabilities_of(model).table != "binary":
        raise TypeError(
            f"{type(model).__name__} gives no probability of a one; its reconstruct() "
            "takes keep= too."
        )
    rows, columns = labels_of(model, table)
    weights = np.asarray(model.transform(table))
    binarize = model.get_params().get("binarize")
    recorded = sparse.csr_array(check_table(model, table, binarize=binarize, reset=False))
    if change_ones is None:
        change_ones = bool((keep < 1).any())
    kept = model.reweigh(weights, keep)
    return Denoised(model, keep, kept, rows, columns, threshold, recorded, change_ones)
