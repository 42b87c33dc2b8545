"""Log densities that more than one file needs, each with its source."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy

__all__ = ["beta_log_density", "dirichlet_log_density"]


def beta_log_density(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Log of x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta) (Kabán and Bingham, eq. 3).

    >>> beta_log_density(np.array([0.2, 0.8]), 1.0, 1.0)
    array([0., 0.])
    """
    return xlogy(alpha - 1, x) + xlog1py(beta - 1, -x) - betaln(alpha, beta)


def dirichlet_log_density(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Log density of each row of `x` under a Dirichlet with the parameters `gamma`.

    G(sum gamma) / prod G(gamma) times prod x^(gamma-1) (Bishop, 2006, eq. B.16); `gamma` has one
    row a row of `x`, or one for all.

    >>> dirichlet_log_density(np.array([[0.2, 0.3, 0.5]]), np.ones(3)).round(6)
    array([0.693147])
    """
    norm = gammaln(np.sum(gamma, axis=-1)) - gammaln(gamma).sum(axis=-1)
    return norm + xlogy(gamma - 1, x).sum(axis=-1)
