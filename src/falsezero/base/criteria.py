"""Information criteria, and the size of row blocks for sparse passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class InformationCriteria:
    """AIC and BIC of a model with `log_likelihood_`, `n_parameters_` and `n_observed_`."""

    log_likelihood_: float
    n_observed_: int

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit."""
        raise NotImplementedError

    def _measures(self) -> dict[str, float]:
        return {"log_likelihood": self.log_likelihood_, "aic": self.aic(), "bic": self.bic()}

    def aic(self) -> float:
        """Akaike's criterion of the fit, -2 L + 2 P; smaller is better."""
        return -2 * self.log_likelihood_ + 2 * self.n_parameters_

    def bic(self) -> float:
        """Schwarz's criterion of the fit, -2 L + P log(observed cells); smaller is better."""
        return -2 * self.log_likelihood_ + self.n_parameters_ * float(np.log(self.n_observed_))


_ENTRIES_PER_COLUMN = 16


def sparse_block_rows(values: Any) -> int | None:
    """Rows per block such that its stored entries outnumber the entries of a column statistic.

    A pass over the ones costs little per row; in blocks sized for dense work arrays, adding up the
    statistics would cost more than the pass. None for dense tables.

    >>> sparse_block_rows(sparse.eye_array(1000, format="csr"))
    1000
    """
    if not sparse.issparse(values):
        return None
    n_rows, n_columns = map(int, values.shape)
    rows = n_rows * _ENTRIES_PER_COLUMN * n_columns / max(values.nnz, 1)
    return max(min(int(np.ceil(rows)), n_rows), 16)
