"""Weighted least squares on two sets of factors: the standard recommender for implicit feedback."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from falsezero.base._sklearn import Interval
from falsezero.base.estimator import spawn_seeds
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks

__all__ = ["ImplicitALS"]

_START = 0.1
"""Standard deviation of the factors at the start."""


class ImplicitALS(CellScorer):
    """Matrix factorization of implicit feedback by alternating least squares (Hu et al. 2008).

    Minimises the sum over observed cells of c_nt (x_nt - u_n v_t)² plus ridge times all squared
    factors, with c_nt = 1 + weight * x_nt (eq. 3): a one counts for more than a zero, which may be
    a one that was not recorded. Rows and columns are solved for in turn, each exactly (eqs. 4 and
    5). A cell not observed is left out.

    Row factors follow from a row's own ones, so new rows are scored like those of the fit. A turn
    costs O(n_ones K² + (N + T) K³).

    Parameters
    ----------
    n_components : int, default=32
        Number of factors K.
    weight : float, default=5.0
        Additional weight of a one.
    ridge : float, default=10.0
        Penalty on all factors.
    max_iter : int, default=12
        Turns over rows and columns.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the initial column factors.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Column factors v.
    link_ : ScoreLink
        From scores to probabilities.

    References
    ----------
    Y. Hu, Y. Koren, C. Volinsky. Collaborative filtering for implicit feedback datasets. ICDM 2008.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> fz.ImplicitALS(3, random_state=0).fit(table).reconstruct(table).shape
    (100, 20)
    """

    judges_without_itself = False

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weight": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "binarize": [Real, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components: int = 32,
        *,
        weight: float = 5.0,
        ridge: float = 10.0,
        max_iter: int = 12,
        binarize: float | None = None,
        random_state: Any = 0,
    ):
        self.n_components = n_components
        self.weight = weight
        self.ridge = ridge
        self.max_iter = max_iter
        self.binarize = binarize
        self.random_state = random_state

    def _learn(self, blocks: Blocks) -> None:
        rng = np.random.default_rng(spawn_seeds(self.random_state, 1)[0])
        factors = rng.normal(0, _START, (blocks.shape[1], self.n_components))
        for _ in range(self.max_iter):
            rows = [self._row_factors(part, factors) for part in _pieces(blocks, factors)]
            factors = self._column_factors(blocks, rows)
        self.components_ = factors.T

    def _scoring(self) -> Scoring:
        factors = self.components_.T

        def score(block: Block) -> np.ndarray:
            parts = [self._row_factors(part, factors) for part in _pieces([block], factors)]
            return np.concatenate(parts) @ factors.T

        return score

    def _row_factors(self, block: Block, factors: np.ndarray) -> np.ndarray:
        """Every row's best factors, given those of the columns (eq. 4)."""
        products = _products(factors)
        return self._solve(factors, _weighed(block, products, self.weight), block.values @ factors)

    def _column_factors(self, blocks: Blocks, rows: list[np.ndarray]) -> np.ndarray:
        """Every column's best factors, given those of the rows (eq. 5)."""
        n_columns, k = blocks.shape[1], self.n_components
        bend, pull = np.zeros((n_columns, k * k)), np.zeros((n_columns, k))
        for block, factors in zip(_pieces(blocks, rows[0]), rows, strict=True):
            turned = Block(0, block.values.T, _turned(block.missing))
            bend += _weighed(turned, _products(factors), self.weight)
            pull += as_dense(block.values.T @ factors)
        return self._solve(np.concatenate(rows), bend, pull)

    def _solve(self, others: np.ndarray, bend: np.ndarray, pull: np.ndarray) -> np.ndarray:
        k = self.n_components
        curvature = bend.reshape(-1, k, k) + (others.T @ others + self.ridge * np.eye(k))
        return np.linalg.solve(curvature, (1 + self.weight) * pull[:, :, None])[:, :, 0]

    def _width(self, values: Any) -> int:
        return max(int(values.shape[1]), self.n_components**2)

    def _is_whole(self) -> bool:
        return self.components_.shape == (self.n_components, self.n_features_in_)


def _pieces(blocks: Any, factors: np.ndarray) -> Iterator[Block]:
    """Rows, as few at a time as the squared factors of each have room for."""
    size = max(16, (1 << 20) // factors.shape[1] ** 2)
    for block in blocks:
        for i in range(0, block.shape[0], size):
            missing = None if block.missing is None else block.missing[i : i + size]
            yield Block(block.start + i, block.values[i : i + size], missing)


def _products(factors: np.ndarray) -> np.ndarray:
    """All products of two factors, flattened."""
    products: np.ndarray = factors[:, :, None] * factors[:, None, :]
    return products.reshape(len(factors), -1)


def _weighed(block: Block, products: np.ndarray, weight: float) -> np.ndarray:
    """Sum of the products over a row's ones, times the weight, less those of cells not observed."""
    total = weight * as_dense(block.values @ products)
    if block.missing is not None:
        total -= as_dense(block.missing.astype(float) @ products)
    return total


def _turned(missing: Any) -> Any:
    return None if missing is None else missing.T
