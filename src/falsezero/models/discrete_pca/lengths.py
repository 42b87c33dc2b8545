"""Prior distribution of the number of tokens per component in a row, for gamma weights.

With l_k ~ Gamma(alpha_k, beta_k) integrated out (slide "Likelihood with Components Marginalised"),
the tokens c_k of a row in a Poisson block are negative binomials, and their sum L is their
convolution.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from falsezero.models.discrete_pca.family import Hyper


class TokenPrior:
    """Draws of (c_1, ..., c_K) given their sum L, up to a largest L.

    `sums[k]` is the distribution of c_1 + ... + c_k.

    >>> prior = TokenPrior(Hyper(np.array([1.0, 1.0]), np.array([1.0, 3.0])), 2)
    >>> prior.draw(np.array([0, 2]), np.random.default_rng(0)).sum(axis=1)
    array([0, 2])
    """

    def __init__(self, hyper: Hyper, longest: int):
        n = np.arange(longest + 1)[:, None]
        alpha, beta = hyper
        log_p = gammaln(alpha + n) - gammaln(alpha) - gammaln(n + 1)
        log_p = log_p + alpha * np.log(beta) - (alpha + n) * np.log1p(beta)
        self.each = np.exp(log_p).T
        self.sums = [self.each[0]]
        for own in self.each[1:]:
            self.sums.append(np.convolve(self.sums[-1], own)[: longest + 1])

    def draw(self, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Tokens by row and component, given how many each row has: the last component first."""
        counts = np.zeros((len(lengths), len(self.each)), np.int64)
        for i, left in enumerate(lengths):
            for k in range(len(self.each) - 1, 0, -1):
                share = self.each[k][: left + 1] * self.sums[k - 1][left::-1]
                total = share.sum()
                counts[i, k] = rng.choice(left + 1, p=share / total) if total > 0 else 0
                left -= counts[i, k]
            counts[i, 0] = left
        return counts


def log_length(hyper: Hyper, lengths: np.ndarray) -> np.ndarray:
    """log p(L) of rows in a Poisson block, their weights integrated out.

    In closed form for one rate. Otherwise, with x_k = 1 / (1 + beta_k), the probabilities of a sum
    of negative binomials obey (L + 1) p(L + 1) = sum_k alpha_k (x_k p(L) + x_k^2 p(L - 1) + ...), a
    sum of positive terms that costs K per step. Between whole numbers log p is interpolated.

    >>> hyper = Hyper(np.array([1.0, 1.0]), np.array([1.0, 3.0]))
    >>> np.exp(log_length(hyper, np.array([0.0, 1.0]))).round(3)
    array([0.375, 0.281])
    """
    alpha, beta = hyper
    n = np.asarray(lengths, dtype=float)
    if has_one_rate(hyper):
        a = alpha.sum()
        log_p = gammaln(a + n) - gammaln(a) - gammaln(n + 1) + a * np.log(beta[0])
        return log_p - (a + n) * np.log1p(beta[0])
    known = _log_lengths(alpha, beta, int(np.ceil(n.max(initial=0.0))))
    return np.interp(n, np.arange(len(known)), known)


def _log_lengths(alpha: np.ndarray, beta: np.ndarray, longest: int) -> np.ndarray:
    """log p(0), ..., log p(longest), scaled at every step so that none underflows."""
    found = np.empty(longest + 1)
    found[0] = -(alpha * np.log1p(1 / beta)).sum()
    share, tails = 1 / (1 + beta), np.zeros_like(beta)
    for length in range(longest):
        # In units of p(length): the sums over all shorter rows, and p(length + 1).
        tails = share * (1 + tails)
        ratio = float(alpha @ tails) / (length + 1)
        found[length + 1] = found[length] + np.log(ratio)
        tails /= ratio
    return found


def has_one_rate(hyper: Hyper) -> bool:
    """Whether gammas have one rate, so that their shares are a Dirichlet."""
    return bool(np.ptp(hyper.beta) <= 1e-9 * hyper.beta[0])
