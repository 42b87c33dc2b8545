"""Predictions of a Gaussian table with the weights integrated out (section 3.4).

Given features, noise precision theta and weight precision phi, the weights W of a Gaussian table
are normal, with precision theta sum_ij (u_i x v_j)(u_i x v_j)' + phi I over the observed cells. A
cell is normal around u_i <W> v_j' with variance 1 / theta + (u_i x v_j)' Cov(W) (u_i x v_j), and no
noise of drawn weights enters. Logistic and Poisson tables have no such closed form, so their
predictions average over drawn weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from falsezero.models.bmf.likelihoods import weighted_precision
from falsezero.models.bmf.state import Cells, State

_MOST_WEIGHTS = 400
"""Weights of a table with missing cells that are integrated out; their covariance is no product."""


class NormalWeights(NamedTuple):
    """The normal posterior of W, given the features and the observed cells."""

    rows: np.ndarray
    columns: np.ndarray
    precision: float
    scale: float
    observed: np.ndarray | None
    """Which cells were observed; None where all were."""

    @classmethod
    def of(cls, state: State, cells: Cells) -> NormalWeights | None:
        """From a state; None where a table with missing cells has too many weights."""
        if not cells.complete and state.weights.size > _MOST_WEIGHTS:
            return None
        observed = None if cells.complete else cells.observed
        return cls(state.rows.on, state.columns.on, state.precision, state.weight_scale, observed)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """<W>, row features x column features; `values` are zero where not observed."""
        u, v = self.rows.astype(float), self.columns.astype(float)
        linear = self.precision * (u.T @ values @ v)
        if self.observed is None:
            turn_rows, turn_columns, variance = self._by_direction()
            return turn_rows @ (turn_rows.T @ linear @ turn_columns * variance) @ turn_columns.T
        return cho_solve(cho_factor(self._precision_matrix()), linear.ravel()).reshape(linear.shape)

    def predictor_variance(self, rows: slice = slice(None)) -> np.ndarray:
        """Variance of u_i W v_j' of some rows, rows x columns."""
        u, v = self.rows[rows].astype(float), self.columns.astype(float)
        if self.observed is None:
            turn_rows, turn_columns, variance = self._by_direction()
            return (u @ turn_rows) ** 2 @ variance @ ((v @ turn_columns) ** 2).T
        k, m = u.shape[1], v.shape[1]
        matrix = self._precision_matrix()
        covariance = cho_solve(cho_factor(matrix), np.eye(len(matrix))).reshape(k, m, k, m)
        by_pair = covariance.transpose(0, 2, 1, 3).reshape(k * k, m * m)
        return _squares(u) @ by_pair @ _squares(v).T

    def _by_direction(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvectors of U'U and of V'V, and the variance of W in each product of two."""
        u, v = self.rows.astype(float), self.columns.astype(float)
        row_values, row_vectors = np.linalg.eigh(u.T @ u)
        column_values, column_vectors = np.linalg.eigh(v.T @ v)
        precision = np.outer(row_values, column_values).clip(0) * self.precision + self.scale
        return row_vectors, column_vectors, 1 / precision

    def _precision_matrix(self) -> np.ndarray:
        u, v = self.rows.astype(float), self.columns.astype(float)
        a, b = np.triu_indices(u.shape[1])
        matrix = self.precision * weighted_precision((u[:, a] * u[:, b]).T @ self.observed, v)
        matrix[np.diag_indices_from(matrix)] += self.scale
        return matrix


def _squares(on: np.ndarray) -> np.ndarray:
    """Products of two features of each line, for all pairs."""
    return (on[:, :, None] * on[:, None, :]).reshape(len(on), -1)
