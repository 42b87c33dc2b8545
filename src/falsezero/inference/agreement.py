"""Whether Markov chains agree: R-hat and effective sample sizes of one quantity.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).
Values are arrays of chains x draws.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata


def r_hat(values: np.ndarray) -> float:
    """Rank-normalised split R-hat: the maximum over the values and their spread.

    NaN for a quantity that never changes or has too few draws; infinite for chains that are stuck
    at different values.

    >>> steady = np.random.default_rng(0).normal(size=(4, 200))
    >>> bool(r_hat(steady) < 1.02 < r_hat(steady + np.arange(4)[:, None]))
    True
    """
    split = _split(np.asarray(values, dtype=float))
    if split.shape[1] < 2 or np.ptp(split) == 0:
        return float("nan")
    folded = np.abs(split - np.median(split))
    return max(_r_hat(_normal_scores(split)), _r_hat(_normal_scores(folded)))


def bulk_ess(values: np.ndarray) -> float:
    """Effective sample size for the centre of the distribution."""
    split = _split(np.asarray(values, dtype=float))
    if split.shape[1] < 2 or np.ptp(split) == 0:
        return float("nan")
    return _ess(_normal_scores(split))


def tail_ess(values: np.ndarray) -> float:
    """Effective sample size for the 5 % and 95 % quantiles, the smaller of the two."""
    split = _split(np.asarray(values, dtype=float))
    if split.shape[1] < 2 or np.ptp(split) == 0:
        return float("nan")
    return min(_ess((split <= np.quantile(split, q)).astype(float)) for q in (0.05, 0.95))


def _split(values: np.ndarray) -> np.ndarray:
    """Split each chain into halves, which disagree if there is a trend."""
    half = values.shape[1] // 2
    return np.vstack([values[:, :half], values[:, values.shape[1] - half :]])


def _normal_scores(values: np.ndarray) -> np.ndarray:
    ranks = rankdata(values).reshape(values.shape)
    return ndtri((ranks - 0.375) / (values.size + 0.25))


def _r_hat(chains: np.ndarray) -> float:
    n = chains.shape[1]
    within = float(chains.var(axis=1, ddof=1).mean())
    between = float(chains.mean(axis=1).var(ddof=1))
    if within <= 1e-12 * between:
        return float("inf") if between > 0 else 1.0
    return float(np.sqrt((n - 1) / n + between / within))


def _ess(chains: np.ndarray) -> float:
    """Geyer's initial monotone sequence over the chains' mean autocovariance."""
    m, n = chains.shape
    if np.ptp(chains) == 0:
        return float(m * n)
    covariance = _autocovariance(chains)
    within = float(covariance[:, 0].mean()) * n / (n - 1)
    total = within * (n - 1) / n
    if m > 1:
        total += float(chains.mean(axis=1).var(ddof=1))
    rho = 1 - (within - covariance.mean(axis=0)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    pairs = pairs[: negative[0]] if len(negative) else pairs
    tau = -1 + 2 * float(np.minimum.accumulate(pairs).sum())
    return m * n / max(tau, 1 / np.log10(m * n))


def _autocovariance(chains: np.ndarray) -> np.ndarray:
    """Autocovariance of each chain at every lag, by the fast Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
