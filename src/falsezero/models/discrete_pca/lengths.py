"""How many tokens of each component a row holds before its words are seen, for gamma weights.

With l_k ~ Gamma(alpha_k, beta_k) integrated out (slide "Likelihood with Components Marginalised"),
the tokens c_k of a row in a Poisson block are negative binomials, and their sum L is their
convolution.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from falsezero.models.discrete_pca.family import Hyper


class TokenPrior:
    """p(L) of a row, and draws of (c_1, ..., c_K) given L, up to a largest L.

    `sums[k]` is the distribution of c_1 + ... + c_k.

    >>> prior = TokenPrior(Hyper(np.array([1.0, 1.0]), np.array([1.0, 3.0])), 2)
    >>> float(np.exp(prior.log_length(np.array([0]))[0]).round(4))
    0.375
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

    def log_length(self, lengths: np.ndarray) -> np.ndarray:
        """log p(L)."""
        return np.log(np.maximum(self.sums[-1][lengths], 1e-300))

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
