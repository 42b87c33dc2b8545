"""The estimator contract, written once: what every model with components can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from falsezero.base._sklearn import (
    Transformer,
    available_if,
    check_feature_names,
    check_n_features,
    get_output_config,
)
from falsezero.base.capabilities import Capabilities
from falsezero.base.links import LINKS
from falsezero.data.arrays import Matrix
from falsezero.data.blocks import Block, Blocks
from falsezero.data.shards import Shards
from falsezero.data.table import Table
from falsezero.data.validate import check_room, check_table, check_values

__all__ = ["FactorModel", "checked_keep", "spawn_seeds"]

_TRACE = 1e-9
"""Share of a row's weight below which the mean training weights take over."""

_LINEAR = ("convex", "linear")
_CELLS_AT_A_TIME = 4_000_000

_SMALL = 131072
"""Cells up to which a sparse table is made dense at once."""


def spawn_seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Independent seeds from any random state: None, an int, a RandomState or a Generator.

    >>> first, second = spawn_seeds(0, 2)
    >>> first.spawn_key == second.spawn_key
    False
    """
    entropy = random_state
    if isinstance(random_state, np.random.Generator):
        entropy = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        entropy = int(random_state.randint(2**31))
    return np.random.SeedSequence(entropy).spawn(count)


def checked_keep(keep: Any, weights: np.ndarray) -> np.ndarray:
    """Check `keep`, P(u|k): one probability per component, or one per row and component.

    >>> checked_keep([0, 1], np.ones((3, 2)))
    array([0., 1.])
    """
    checked = np.asarray(keep, dtype=float)
    if checked.shape not in (weights.shape[1:], weights.shape):
        raise ValueError(
            f"keep= needs one number per component ({weights.shape[1]}) or one per row and "
            f"component {weights.shape}, but has shape {checked.shape}."
        )
    if not ((checked >= 0) & (checked <= 1)).all():
        raise ValueError("keep= needs probabilities in [0, 1].")
    return checked


def _is_faster_dense(values: Any) -> bool:
    """Whether a sparse table is small or full enough for dense products to be faster."""
    if not sparse.issparse(values):
        return False
    cells = values.shape[0] * values.shape[1]
    return bool(cells <= _SMALL or (cells <= 64 * _SMALL and values.nnz > 0.05 * cells))


class FactorModel(Transformer, ABC):
    """A model whose rows are explained by weights on a few components.

    It is fitted by optimisation (`OptimisedModel`) or by Markov chains (`SampledModel`). Every
    model declares its `capabilities` and has, once fitted, `components_` and `row_weights_`. A
    model whose link has offsets overrides `_link_offset`; one without a link overrides `_expected`
    (the table that weights predict).
    """

    capabilities: Capabilities
    components_: Matrix
    row_weights_: Matrix

    # -- what a model supplies ------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the components from a table."""

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """A score for each row, of the kind `capabilities.row_score`; larger is better."""

    @abstractmethod
    def sample(self, n_samples: int = 1) -> np.ndarray:
        """Draw new rows from the fitted model."""

    @abstractmethod
    def _settle(self, blocks: Blocks) -> np.ndarray:
        """Row weights of a table given the learnt components, rows x components."""

    @property
    def _link_offset(self) -> np.ndarray:
        """Contribution of each column without any component, on the scale of the link."""
        return np.zeros(self.n_features_in_)

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        """The table that row weights predict, rows x columns, by the declared link."""
        return self._expected_columns(weights, slice(None))

    def _expected_columns(self, weights: np.ndarray, columns: slice) -> np.ndarray:
        """Some columns of the table that row weights predict."""
        link = self.capabilities.link
        if link is None:
            raise NotImplementedError(f"{type(self).__name__} has no link; override _expected.")
        factors = self.components_[:, columns], self._link_offset[columns]
        return LINKS[link].expected(weights, *factors)

    def _expected_cells(
        self, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """Predictions of row weights for single cells, given in ascending order of rows."""
        if type(self)._expected is FactorModel._expected and self.capabilities.link in _LINEAR:
            products = _products(weights, self.components_, rows, columns)
            products += self._link_offset[columns]
            return products
        found, step = [], max(1, _CELLS_AT_A_TIME // self.n_features_in_)
        for start in range(0, len(weights), step):
            inside = slice(*np.searchsorted(rows, [start, start + step]))
            expected = np.asarray(self._expected(weights[start : start + step]))
            found.append(expected[rows[inside] - start, columns[inside]])
        return np.concatenate(found)

    # -- using ----------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Weights of the components in each row of a table, the training table or another.

        Returns
        -------
        array of shape (n_rows, n_components), or a `Table` with the row labels for a `Table`
        """
        blocks = self._blocks(X, reset=False)
        return self._row_table(self._settle(blocks), X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then give the weights of the components in each row."""
        return self.fit(X, y).transform(X)

    @available_if(lambda model: model.capabilities.link is not None)
    def inverse_transform(self, X: Any) -> Any:
        """The expected table for row weights, as `transform` gives them.

        Parameters
        ----------
        X : array, Table or data frame of shape (n_rows, n_components)

        Returns
        -------
        array of shape (n_rows, n_columns), or a `Table` with the row labels for a `Table`
        """
        check_is_fitted(self)
        weights = np.asarray(X, dtype=float)
        if weights.ndim != 2 or weights.shape[1] != len(self.components_):
            raise ValueError(
                f"inverse_transform takes row weights, one column for each of the "
                f"{len(self.components_)} components, but the shape is {weights.shape}."
            )
        names = getattr(self, "feature_names_in_", None)
        return self._labelled(self._expected(weights), X, names)

    def reconstruct(self, X: Any, keep: Any = None) -> Any:
        """The table as the model sees it: the probability (or expected value) of every cell.

        Parameters
        ----------
        X : Table, array, sparse array or data frame
        keep : array of shape (n_components,) or (n_rows, n_components), optional
            The analyst's judgement of the components, P(u|k): 0 removes a component, 1 keeps it.
            Row weights are renormalised by Bayes' rule (Kabán and Bingham, eq. 13).
        """
        check_room(self, X)
        blocks = self._blocks(X, reset=False)
        weights = self.reweigh(self._settle(blocks), keep)
        names = X.columns if isinstance(X, Table) else None
        return self._labelled(self._expected(weights), X, names)

    def reweigh(self, weights: np.ndarray, keep: Any = None) -> np.ndarray:
        """Row weights after components are removed or kept: `keep` is P(u|k) or P(u|k, row).

        Where weights compete (a convex link), a row's weights keep their sum, and a row with all
        its weight on removed components gets the mean training weights of the others. Elsewhere
        weights are multiplied by `keep`.
        """
        if keep is None:
            return weights
        keep = checked_keep(keep, weights)
        link = self.capabilities.link
        if link is not None and not LINKS[link].weights_compete:
            kept: np.ndarray = weights * keep
            return kept
        if not (keep > 0).any(axis=-1).all():
            raise ValueError("keep= must keep at least one component.")
        kept = (weights + self._trace_weights) * keep
        kept *= weights.sum(axis=1, keepdims=True) / kept.sum(axis=1, keepdims=True)
        return kept

    @property
    def _average_weights(self) -> np.ndarray:
        """Mean training weights, used for rows without information."""
        mean: np.ndarray = self.row_weights_.mean(axis=0)
        return mean

    @property
    def _trace_weights(self) -> np.ndarray:
        """Added before weights are renormalised; matters only in rows left without weight."""
        trace: np.ndarray = _TRACE * (self._average_weights + np.finfo(float).tiny)
        return trace

    def cell_causes(self, block: Block, weights: np.ndarray) -> np.ndarray:
        """Posterior over components for every cell of a block, for models that have causes.

        Returns
        -------
        array of shape (n_components, n_rows, n_columns)
        """
        raise TypeError(
            f"{type(self).__name__} cannot tell which component made a cell; AspectBernoulli, "
            "BinaryICA, PLSA and the mixtures can."
        )

    # -- what `falsezero info` shows ------------------------------------------------------------

    def _measures(self) -> dict[str, float]:
        """Measures of the fit, by name, other than the objective."""
        return {}

    def _importance(self) -> tuple[str, np.ndarray | None]:
        """Name and values of each component's importance; None where weights can be negative."""
        rows = vars(self).get("row_weights_")
        return "weight", None if rows is None or (rows < 0).any() else rows.mean(axis=0)

    def _idle_components(self) -> dict[int, str]:
        """Unused components, each with a label such as "extinct"."""
        return {}

    def _column_groups(self) -> dict[str, np.ndarray]:
        """Columns of each group; a model without groups has one unnamed group."""
        return {"": np.arange(self.n_features_in_)}

    def _leak(self) -> np.ndarray | None:
        """Probability of a one without any component, per column; None without a leak."""
        return None

    def _is_whole(self) -> bool:
        """Whether the arrays of a model read from a file have matching shapes."""
        return True

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples` over the rows; larger is better."""
        return float(np.mean(self.score_samples(X)))

    def weights_by_block(self, X: Any) -> Iterator[tuple[Block, np.ndarray]]:
        """The row blocks of a table, each with its row weights."""
        blocks = self._blocks(X, reset=False)
        weights = self._settle(blocks)
        for block in blocks:
            yield block, weights[block.rows]

    def _blocks(self, X: Any, reset: bool) -> Blocks:
        if not reset:
            check_is_fitted(self)
        kind, binarize = self.capabilities.table, self.get_params().get("binarize")
        if isinstance(X, Shards) and self.capabilities.distributed:
            check_feature_names(self, X, reset=reset)
            check_n_features(self, X, reset=reset)
            name = type(self).__name__
            return X.blocks(partial(check_values, kind=kind, binarize=binarize, name=name))
        values: Any = check_table(self, X, kind=kind, binarize=binarize, reset=reset)
        values = self._store(values)
        return Blocks.cut(values, self._block_rows(values))

    def _store(self, values: Any) -> Any:
        """The checked table, dense or sparse, whichever this model handles faster."""
        is_dense = self.capabilities.table == "binary" and _is_faster_dense(values)
        return values.toarray() if is_dense else values

    def _block_rows(self, values: Any) -> int | None:
        """Rows per block; None for the default."""
        return None

    def _row_table(self, weights: np.ndarray, X: Any) -> Any:
        """Row weights in the container that `set_output` asks for, labelled like a `Table`."""
        table = self._labelled(weights, X, self.get_feature_names_out())
        asked = get_output_config("transform", self)["dense"]
        if not isinstance(table, Table) or asked == "default":
            return table
        # scikit-learn builds its containers from arrays and data frames only.
        return table.to_pandas() if asked == "pandas" else weights

    @staticmethod
    def _labelled(array: np.ndarray, X: Any, columns: Any) -> Any:
        """A `Table` with the labels of `X` where `X` is one, else the array."""
        if not isinstance(X, Table):
            return array
        return Table(array, rows=X.rows, columns=columns, name=X.name)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.capabilities.leaves_cells_out
        tags.input_tags.positive_only = self.capabilities.table in ("count", "weight")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _products(
    weights: np.ndarray, components: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """weights @ components at single cells, computed in chunks."""
    found, by_column = np.empty(len(rows)), np.ascontiguousarray(components.T)
    for start in range(0, len(rows), _CELLS_AT_A_TIME // 16):
        some = slice(start, start + _CELLS_AT_A_TIME // 16)
        found[some] = np.einsum("ik,ik->i", weights[rows[some]], by_column[columns[some]])
    return found
