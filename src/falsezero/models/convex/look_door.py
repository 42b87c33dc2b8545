"""What a model of repeated looks takes in: looks, their conditions, and what is known of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from falsezero.base._sklearn import check_n_features
from falsezero.data.errors import DataError, suggest
from falsezero.data.look_blocks import LookBlocks
from falsezero.data.look_checks import next_look_variables
from falsezero.data.looks import Looks, as_looks, is_looks
from falsezero.data.validate import check_table
from falsezero.data.values import check_dense

__all__ = ["LookDoor", "RowTerms"]


class RowTerms(NamedTuple):
    """Variables of the rows and their scale; squares only of those with more than two values."""

    names: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    square_centre: np.ndarray
    square_scale: np.ndarray
    """0 where there is no square."""

    @property
    def n_slopes(self) -> int:
        """Number of terms without the first, which is one."""
        return len(self.names) + int((self.square_scale > 0).sum())

    def design(self, looks: Looks) -> np.ndarray:
        """One, the variables and their squares, each with mean 0 and deviation 1 in training."""
        columns = [np.ones(looks.shape[0])]
        for i, name in enumerate(self.names.tolist()):
            values = (_row_variable(looks, name) - self.centre[i]) / self.scale[i]
            columns.append(values)
            if self.square_scale[i] > 0:
                columns.append((values**2 - self.square_centre[i]) / self.square_scale[i])
        return np.column_stack(columns)


class LookDoor:
    """The door of a model with `look_variables`, `row_variables` and `observer_effects`."""

    row_terms_: Any = None
    """Terms of the row variables; models saved before there were any have none."""
    usual_terms_: Any = None
    """Columns x terms of detection where each column is; None where rows are alike in it."""

    def _blocks(self: Any, X: Any, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
        looks, dtype = self._looks(X, reset)
        if reset:
            self._learn_conditions(looks)
        design = self._design(looks)
        observers = self._observer_codes(looks)
        return LookBlocks.of(
            looks,
            design,
            observers,
            variables=None if self.row_terms_ is None else self.row_terms_.design(looks),
            rows_differ=self._has_row_effects,
            dtype=dtype,
        )

    def _looks(self: Any, X: Any, reset: bool) -> tuple[Looks, Any]:
        """Looks from looks, 3-D arrays and tables, with names and widths checked."""
        if is_looks(X):
            looks = as_looks(X)
            named = looks.look(looks.looks[0]) if isinstance(X, Looks) else None
            if named is None:
                width = np.zeros((1, looks.shape[2]))
                check_n_features(self, width, reset=reset)
            else:
                check_table(self, named.select(rows=slice(0, 1)), kind="count", reset=reset)
            return looks, np.dtype(float)
        values: Any = check_table(self, X, binarize=self.binarize, reset=reset)
        if sparse.issparse(values):
            check_dense(values.shape, type(self).__name__, "fit a sample of the rows")
            values = values.toarray()
        return Looks(values[:, None, :]), values.dtype

    def _learn_conditions(self: Any, looks: Looks) -> None:
        """Which variables and observers there are, and the scale of the variables."""
        names = list(looks.variables) if self.look_variables == "all" else list(self.look_variables)
        self.look_variables_ = names
        self.variable_scale_ = np.ones((2, len(names)))
        took_place: Any = looks.took_place
        for position, name in enumerate(names):
            values = _variable(looks, name)[took_place]
            scale = values.std()
            self.variable_scale_[:, position] = values.mean(), scale if scale > 0 else 1.0
        self.row_terms_ = None
        if self.inference != "ml":
            wanted = looks.row_variables if self.row_variables == "all" else self.row_variables
            self.row_terms_ = _row_terms(looks, list(wanted))
        self.observer_labels_ = None
        if self.observer_effects and looks.observers is not None:
            self.observer_labels_ = np.unique(looks.observers[took_place])

    @property
    def _has_row_effects(self: Any) -> bool:
        return bool(self.row_effects and self.detection is None)

    @property
    def _n_row_slopes(self: Any) -> int:
        """Terms of the row variables that detection depends on."""
        has_slopes = self.row_detection and self.row_terms_ is not None
        return self.row_terms_.n_slopes if has_slopes else 0

    @property
    def _n_terms(self: Any) -> int:
        """Terms of detection: one, the variables of the look, those of the row."""
        return 1 + len(self.look_variables_) + self._n_row_slopes

    def _design(self: Any, looks: Looks) -> np.ndarray | None:
        if self._n_terms == 1:
            return None
        design = np.zeros((*looks.shape[:2], self._n_terms))
        design[..., 0] = 1.0
        took_place: Any = looks.took_place
        for at, name in enumerate(self.look_variables_):
            centre, scale = self.variable_scale_[:, at]
            values = (_variable(looks, name) - centre) / scale
            design[..., 1 + at] = np.where(took_place, values, 0.0)
        if self._n_row_slopes:
            design[..., -self._n_row_slopes :] = self.row_terms_.design(looks)[:, None, 1:]
        return design

    def _next_design(self: Any, next_look: Mapping[str, Any] | None, blocks: Any) -> Any:
        """Terms of the next look at each row, rows x terms; None where all rows have the mean ones.

        Variables that are not stated, or NaN, are at their mean.
        """
        n_rows = blocks.shape[0]
        stated = next_look_variables(next_look, self.look_variables_, n_rows)
        if not stated and not self._n_row_slopes:
            return None
        design = np.zeros((n_rows, self._n_terms))
        design[:, 0] = 1.0
        for name, values in stated.items():
            at = self.look_variables_.index(name)
            centre, scale = self.variable_scale_[:, at]
            design[:, 1 + at] = np.nan_to_num((values - centre) / scale)
        if self._n_row_slopes:
            known = np.concatenate([block.variables[:, 1:] for block in blocks])
            design[:, -self._n_row_slopes :] = known
        return design

    def _observer_codes(self: Any, looks: Looks) -> np.ndarray | None:
        labels = self.observer_labels_
        if labels is None:
            return None
        if looks.observers is None:
            return np.full(looks.shape[:2], -1)
        codes: Any = np.searchsorted(labels, looks.observers).clip(max=len(labels) - 1)
        return np.where(np.equal(labels[codes], looks.observers), codes, -1)


def _row_terms(looks: Looks, names: list[str]) -> RowTerms | None:
    if not names:
        return None
    scales = []
    for name in names:
        values = _row_variable(looks, name)
        centre, scale = values.mean(), values.std() or 1.0
        square = ((values - centre) / scale) ** 2
        width = square.std() if len(np.unique(values)) > 2 else 0.0
        scales.append((centre, scale, square.mean(), width))
    return RowTerms(np.array(names), *np.array(scales).T)


def _row_variable(looks: Looks, name: str) -> np.ndarray:
    if name not in looks.row_variables:
        advice = suggest(name, looks.row_variables, "their variables")
        raise DataError(f"The rows have no variable {name!r}; {advice}")
    return looks.row_variables[name]


def _variable(looks: Looks, name: str) -> np.ndarray:
    if name not in looks.variables:
        advice = suggest(name, looks.variables, "their variables")
        raise DataError(f"The looks have no variable {name!r}; {advice}")
    return looks.variables[name]
