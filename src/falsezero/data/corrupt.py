"""Spoil a table on purpose, to see whether a model finds out which cells are false."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.errors import DataError
from falsezero.data.table import Table, canonical

__all__ = ["corrupt"]


def corrupt(X: Any, *, omit: float = 0.0, add: float = 0.0, random_state: Any = None) -> Any:
    """Turn ones into false zeros and zeros into false ones, at a rate that differs by row.

    Every row draws its own rate from Uniform[0, omit] and each of its ones is lost with that
    probability; likewise every zero becomes a one with a rate from Uniform[0, add] (section 3.4 of
    the Aspect Bernoulli paper, where extra ones and zeros that fall on equal cells change nothing).
    Cells that were not observed stay as they are.

    Parameters
    ----------
    X : Table, ndarray or scipy sparse array
        Ones and zeros, or counts: a nonzero cell is lost whole, an added one is 1.
    omit, add : float in [0, 1]
        The largest rate of a row.
    random_state : int, numpy Generator or RandomState, optional
        Source of randomness. The same seed gives the same cells for every type of `X`.

    Returns
    -------
    object of the type of `X`
        Sparse stays sparse; a Table keeps its labels.

    Examples
    --------
    >>> import numpy as np
    >>> corrupt(np.ones((2, 6)), omit=0.8, random_state=0)
    array([[0., 0., 1., 1., 1., 1.],
           [1., 1., 1., 0., 1., 0.]])
    """
    for name, rate in (("omit", omit), ("add", add)):
        if not 0.0 <= rate <= 1.0:
            raise DataError(f"{name}={rate!r} must be a rate between 0 and 1.")
    generator = _generator(random_state)
    matrix: Any = canonical(X.values if isinstance(X, Table) else X)
    spoilt = _spoil(matrix, omit, add, generator)
    if isinstance(X, Table):
        return X.with_values(spoilt)
    if sp.issparse(X):
        like: Any = X
        return type(like)(spoilt.astype(like.dtype))
    array = np.asarray(X)
    return spoilt.toarray().astype(array.dtype)


def _spoil(matrix: Any, omit: float, add: float, generator: np.random.Generator) -> Any:
    n_rows = matrix.shape[0]
    row_of = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    omit_rates = generator.uniform(0.0, omit, n_rows)
    lost = generator.random(matrix.nnz) < omit_rates[row_of]
    kept = matrix.copy()
    kept.data[lost & ~np.isnan(matrix.data)] = 0.0
    add_rates = generator.uniform(0.0, add, n_rows)
    if add == 0.0:
        return kept
    return kept + _extra_ones(matrix, add_rates, generator)


def _extra_ones(matrix: Any, rates: NDArray[np.float64], generator: np.random.Generator) -> Any:
    n_columns = matrix.shape[1]
    added = []
    for row, number in enumerate(generator.binomial(n_columns, rates)):
        drawn = generator.choice(n_columns, size=number, replace=False)
        filled = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        added.append(np.setdiff1d(drawn, filled, assume_unique=True))
    indptr = np.cumsum([0, *(columns.size for columns in added)])
    indices = np.concatenate([np.empty(0, dtype=np.intp), *added])
    return sp.csr_array((np.ones(indices.size), indices, indptr), shape=matrix.shape)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
