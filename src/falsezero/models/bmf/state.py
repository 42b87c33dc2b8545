"""The state of binary matrix factorization: features of both sides, weights, and priors.

E. Meeds, Z. Ghahramani, R. Neal and S. Roweis, "Modeling dyadic data with binary latent factors",
NIPS 19 (2007). Equation and section numbers are that paper's.
Every move is written for the row side; the column side is the same move on the flipped state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

Gamma = tuple[float, float]
"""Shape and rate of a gamma distribution."""


class Features(NamedTuple):
    """Binary features of one side (U or V) and their prior."""

    on: np.ndarray
    """Zeros and ones, uint8, things x features; fixed features come first."""
    n_fixed: int
    """Features that are known (the bias among them) and never sampled."""
    finite: int
    """K of the finite Beta-Bernoulli model; 0 for the Indian buffet process."""
    concentration: float
    """alpha (rows) or lambda (columns)."""
    beta: float = 1.0
    """Second parameter of the prior of each feature's bias, Beta(alpha / K, beta)."""

    @property
    def mass(self) -> float:
        """Pseudo-count alpha / K of an entry; 0 in the infinite limit (eqs. 2 and 4)."""
        return self.concentration / self.finite if self.finite else 0.0

    @property
    def total(self) -> float:
        """beta + I - 1, of which an entry is off with n_-ik less (eqs. 3 and 5)."""
        return self.beta + len(self.on) - 1

    @property
    def birth_rate(self) -> float:
        """Features that one row has and no other, on average, where their number is not fixed."""
        return self.concentration / self.total

    @property
    def buffet_rate(self) -> float:
        """sum_i 1 / (beta + i - 1): features expected for alpha = 1, their number not fixed."""
        return float(digamma(self.beta + len(self.on)) - digamma(self.beta))

    @property
    def learnt(self) -> np.ndarray:
        """The features that are sampled."""
        return self.on[:, self.n_fixed :]

    @property
    def counts(self) -> np.ndarray:
        """Number of rows (or columns) with each sampled feature, n_k."""
        return self.learnt.sum(axis=0, dtype=float)

    def column_log_prior(self, counts: np.ndarray) -> np.ndarray:
        """Log prior of each feature by its count, with the biases pi_k integrated out (section 2).

        In the infinite case it is the feature's factor in the density of an unordered set of
        features, alpha B(n_k, beta + I - n_k); with beta = 1, alpha (n_k - 1)! (I - n_k)! / I!.
        """
        absent = self.beta + len(self.on) - counts
        if self.finite:
            return betaln(self.mass + counts, absent) - betaln(self.mass, self.beta)
        return np.log(self.concentration) + betaln(counts, absent)

    def log_prior(self) -> float:
        """Log prior of all features of this side."""
        total = float(self.column_log_prior(self.counts).sum())
        return total if self.finite else total - self.concentration * self.buffet_rate


class State(NamedTuple):
    """One draw of everything unknown."""

    rows: Features
    columns: Features
    weights: np.ndarray
    """W, row features x column features."""
    weight_scale: float
    """phi: precision of a normal weight, rate of a gamma one."""
    precision: float
    """theta, the noise precision of a Gaussian table; 1 otherwise."""
    log_joint: float = float("nan")
    log_likelihood: float = float("nan")

    def flipped(self) -> State:
        """The same state for the transposed table."""
        return self._replace(rows=self.columns, columns=self.rows, weights=self.weights.T)

    @property
    def basis(self) -> np.ndarray:
        """What each row feature adds to a row's predictor, W V'."""
        return np.ascontiguousarray(self.weights @ self.columns.on.T.astype(float))

    def predictor(self) -> np.ndarray:
        """U W V' (eq. 1)."""
        return self.rows.on.astype(float) @ self.basis


@dataclass(frozen=True)
class Priors:
    """Gamma hyperpriors (section 2), shape and rate each."""

    row_concentration: Gamma = (1.0, 1.0)
    column_concentration: Gamma = (1.0, 1.0)
    weight: Gamma = (1.0, 1.0)
    noise: Gamma = (1.0, 1.0)


@dataclass(frozen=True)
class Cells:
    """The table: values (zero where nothing was observed) and which cells were."""

    values: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> Cells:
        """From an array with NaN for cells that were not observed."""
        missing = np.isnan(table)
        values = np.where(missing, 0.0, table).astype(float)
        return cls(np.ascontiguousarray(values), np.ascontiguousarray(~missing, dtype=float))

    @cached_property
    def complete(self) -> bool:
        """Whether every cell was observed."""
        return bool(self.observed.all())

    @cached_property
    def missing(self) -> np.ndarray:
        """Where cells were not observed, in the raveled table."""
        return np.flatnonzero(self.observed == 0)

    @cached_property
    def n_observed(self) -> float:
        """Number of observed cells."""
        return float(self.observed.sum())

    @cached_property
    def log_factorials(self) -> np.ndarray:
        """log(x!) of every cell."""
        return gammaln(self.values + 1)

    @cached_property
    def flipped(self) -> Cells:
        """The transposed table."""
        return Cells(np.ascontiguousarray(self.values.T), np.ascontiguousarray(self.observed.T))


def draw_features(
    fixed: np.ndarray,
    finite: int,
    concentration: float,
    rng: np.random.Generator,
    beta: float = 1.0,
) -> Features:
    """Features from their prior, beside fixed ones: Beta-Bernoulli, or the Indian buffet process.

    Row i of a buffet (from 0) has feature k with probability n_k / (beta + i), where n_k earlier
    rows have it, and Poisson(alpha / (beta + i)) new ones.
    """
    n, n_fixed = fixed.shape
    if finite:
        shape = concentration / finite
        on = rng.random((n, finite)) < rng.beta(shape, beta, size=finite)
        return Features(_beside(fixed, on), n_fixed, finite, concentration, beta)
    columns: list[np.ndarray] = []
    counts: list[int] = []
    for i in range(n):
        for k, count in enumerate(counts):
            if rng.random() * (beta + i) < count:
                columns[k][i] = 1
                counts[k] += 1
        for _ in range(rng.poisson(concentration / (beta + i))):
            column = np.zeros(n, dtype=np.uint8)
            column[i] = 1
            columns.append(column)
            counts.append(1)
    born = np.array(columns, dtype=np.uint8).reshape(-1, n).T
    return Features(_beside(fixed, born), n_fixed, 0, concentration, beta)


def _beside(fixed: np.ndarray, on: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.hstack([fixed, on]), dtype=np.uint8)


def gamma_log_density(value: float, prior: Gamma) -> float:
    """Log density of a gamma distribution with shape and rate."""
    shape, rate = prior
    log_norm = shape * np.log(rate) - gammaln(shape)
    return float(log_norm + (shape - 1) * np.log(value) - rate * value)
