"""An estimate of the evidence of a table, by whichever model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """An estimate of log P(table | number of components, priors).

    Attributes
    ----------
    value : float
        Log of the mean of the chains' weights. Errs on the low side where chains are too short.
    error : float
        Its standard error, from the spread of the weights; infinite for a single chain.
    chains : array
        Log weight of each chain.
    """

    value: float
    error: float
    chains: np.ndarray

    @property
    def effective_chains(self) -> float:
        """How many chains carry the estimate; near 1 it depends on one of them: raise `n_steps`."""
        share = np.exp(self.chains - logsumexp(self.chains))
        return float(1 / np.square(share).sum())
