"""Tables that need no download: drawn from a model, or bundled with scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from falsezero.data.table import Table
from falsezero.datasets._store import Dataset

__all__ = ["Simulated", "make_aspect_bernoulli", "make_digits_demo"]


class Simulated(NamedTuple):
    """A table and the truth behind it: row weights (rows x k) and components (k x columns)."""

    table: Table
    weights: NDArray[np.float64]
    components: NDArray[np.float64]


def make_aspect_bernoulli(
    n_rows: int = 200,
    n_columns: int = 40,
    n_components: int = 4,
    *,
    concentration: float = 0.3,
    shape: tuple[float, float] = (0.3, 0.6),
    random_state: Any = None,
) -> Simulated:
    """Draw a table of `n_rows` x `n_columns` from the Aspect Bernoulli model with `n_components`.

    Row weights are Dirichlet with `concentration` (small: one component a row), components are
    Beta with `shape` = (a, b), and a cell is one with probability weights @ components (equation 1
    of the Aspect Bernoulli paper).

    >>> table, weights, components = make_aspect_bernoulli(5, 3, 2, random_state=0)
    >>> table.shape, weights.shape, components.shape
    ((5, 3), (5, 2), (2, 3))
    """
    generator = np.random.default_rng(random_state)
    weights = generator.dirichlet(np.full(n_components, concentration), size=n_rows)
    components = generator.beta(*shape, size=(n_components, n_columns))
    ones = generator.random((n_rows, n_columns)) < weights @ components
    return Simulated(Table(ones, name="aspect bernoulli"), weights, components)


def make_digits_demo(threshold: int = 8) -> Dataset:
    """1797 handwritten digits of 8 x 8 pixels bundled with scikit-learn, on from `threshold` up.

    >>> make_digits_demo().table.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Dataset(
        Table(digits.data >= threshold, name="digits"),
        target=digits.target,
        row_info={"digit": digits.target},
        description="Optical recognition of handwritten digits, bundled with scikit-learn",
        citation="E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, doi:10.24432/C50P49",
        image_shape=(8, 8),
    )
