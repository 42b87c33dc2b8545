"""Likelihood of new rows, and new rows, for models that know only the weights of training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from falsezero.base.estimator import spawn_seeds

_ATOMS = 2000
_FLOOR = 1e-12


class EmpiricalBayes:
    """`score_samples` and `sample` from `row_weights_` and `_expected`."""

    def score_samples(self: Any, X: Any) -> np.ndarray:
        """Empirical Bayes log likelihood of each row (Bingham et al., eqs. 21-24).

        The row's weights are integrated over the weights of the training rows (a fixed draw of at
        most 2000 of them). Unlike a likelihood with the row's own best weights, it can be compared
        between numbers of components. Cells not observed are left out.
        """
        blocks = self._blocks(X, reset=False)
        atoms = self._expected(self._atoms())
        log_one = np.log(np.maximum(atoms, _FLOOR))
        log_zero = np.log(np.maximum(1 - atoms, _FLOOR))
        contrast, base = log_one - log_zero, log_zero.sum(axis=1)
        scores = []
        for block in blocks:
            log_p = np.asarray(block.values @ contrast.T) + base
            if block.missing is not None:
                log_p -= np.asarray(block.missing.astype(float) @ log_zero.T)
            scores.append(logsumexp(log_p, axis=1) - np.log(len(atoms)))
        return np.concatenate(scores)

    def _atoms(self: Any) -> np.ndarray:
        weights = self.row_weights_
        if len(weights) <= _ATOMS:
            return weights
        return weights[np.random.default_rng(0).choice(len(weights), _ATOMS, replace=False)]

    def sample(self: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model, their weights taken at random from the training rows."""
        check_is_fitted(self)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        rows = rng.integers(len(self.row_weights_), size=n_samples)
        expected = self._expected(self.row_weights_[rows])
        return (rng.random(expected.shape) < expected).astype(float)
