"""Groups of columns and priors of Discrete PCA, and how the priors are learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi

POISSON = "poisson"
"""The group name that stands for the Poisson block of the general model."""

_ALPHA_RANGE = (1e-3, 1e3)
_BETA_RANGE = (1e-8, 1e8)


class Hyper(NamedTuple):
    """Priors of a row's weights: l_k ~ Gamma(alpha_k, beta_k), or m ~ Dirichlet(alpha)."""

    alpha: np.ndarray
    beta: np.ndarray


class Family(NamedTuple):
    """A member of the general model (slide "general model"): gammas or not, and groups of columns.

    With `gamma` the weights l are gammas and their scale matters; without it only
    m = l / sum_k l_k is left and its prior is a Dirichlet.
    """

    gamma: bool
    groups: np.ndarray
    names: tuple[str, ...]

    @property
    def sizes(self) -> np.ndarray:
        """Number of columns in each group."""
        return np.bincount(self.groups, minlength=len(self.names)).astype(float)

    @property
    def poisson(self) -> np.ndarray:
        """Whether each column belongs to the Poisson block."""
        if self.gamma and POISSON in self.names:
            return self.groups == self.names.index(POISSON)
        return np.zeros(len(self.groups), bool)

    @property
    def delta(self) -> float:
        """delta_P of the slides: 1 with a Poisson block, else 0."""
        return float(self.poisson.any())

    def lengths(self, values: Any) -> np.ndarray:
        """Tokens of each row that are in multinomial groups."""
        return np.asarray(values @ (~self.poisson).astype(values.dtype), dtype=float)

    def constant(self, values: Any) -> float:
        """log of L_g! / prod_j w_j! over rows and groups, which no parameter changes."""
        total = -float(gammaln(values.data + 1.0).sum())
        for g, name in enumerate(self.names):
            if not (self.gamma and name == POISSON):
                size = values @ (self.groups == g).astype(values.dtype)
                total += float(gammaln(np.asarray(size, dtype=float) + 1.0).sum())
        return total

    def log_theta_norm(self, eta: float, n_components: int) -> float:
        """log of the constant in the Dirichlet(eta) density of Theta, all components and groups."""
        sizes = self.sizes
        return n_components * float((gammaln(eta * sizes) - sizes * gammaln(eta)).sum())

    def log_weight_norm(self, hyper: Hyper) -> float:
        """log of the constant in the prior density of one row's weights."""
        alpha, beta = hyper
        if self.gamma:
            return float((alpha * np.log(beta) - gammaln(alpha)).sum())
        return float(gammaln(alpha.sum()) - gammaln(alpha).sum())

    def group_sums(self, table: np.ndarray) -> np.ndarray:
        """Sum a words x components table over the words of each group."""
        if len(self.names) == 1:
            return table.sum(axis=0, keepdims=True, dtype=float)
        return np.stack([table[self.groups == g].sum(axis=0) for g in range(len(self.names))])

    def normalise(self, table: np.ndarray) -> np.ndarray:
        """Divide a words x components table by its sums over each group."""
        return table / self.group_sums(table)[self.groups]


def read_family(family: str, groups: Any, n_columns: int, names: Any = None) -> Family:
    """The `Family` that `family=` and `groups=` describe, for a table.

    >>> read_family("gamma-multinomial", ["poisson", "noun", "noun"], 3).names
    ('noun', 'poisson')
    """
    if family == "gamma-poisson":
        if groups is not None:
            raise ValueError(
                'family="gamma-poisson" is one Poisson block and takes no groups=; '
                'choose family="gamma-multinomial" for a table in several parts.'
            )
        return Family(True, np.zeros(n_columns, np.int64), (POISSON,))
    gamma = family == "gamma-multinomial"
    if groups is None:
        return Family(gamma, np.zeros(n_columns, np.int64), ("words",))
    if isinstance(groups, Mapping):
        keys = range(n_columns) if names is None else names
        missing = [key for key in keys if key not in groups]
        if missing:
            raise ValueError(f"groups= does not mention the column {missing[0]!r}.")
        groups = [groups[key] for key in keys]
    labels = np.asarray([str(label) for label in groups])
    if len(labels) != n_columns:
        raise ValueError(
            f"groups= needs one group per column ({n_columns}), but has {len(labels)} entries."
        )
    kinds, index = np.unique(labels, return_inverse=True)
    if not gamma and POISSON in kinds:
        raise ValueError(
            'A Poisson block in groups= needs family="gamma-multinomial", not '
            '"dirichlet-multinomial", whose weights have no scale.'
        )
    return Family(gamma, index.astype(np.int64), tuple(str(kind) for kind in kinds))


def _inverse_digamma(y: np.ndarray) -> np.ndarray:
    """x with digamma(x) = y (Minka, "Estimating a Dirichlet distribution", appendix C)."""
    x = np.where(y >= -2.22, np.exp(np.minimum(y, 30)) + 0.5, -1 / (np.minimum(y, -1) + 0.5772))
    for _ in range(6):
        x = np.maximum(x - (psi(x) - y) / polygamma(1, x), 1e-10)
    return x


def dirichlet_alpha(alpha: np.ndarray, mean_log: np.ndarray, sweeps: int = 30) -> np.ndarray:
    """Maximise the expected log density of Dirichlet(alpha), given the means of log m_k.

    Each sweep maximises a bound that touches at the present alpha (Minka), so the objective of a
    variational fit cannot fall.

    >>> dirichlet_alpha(np.ones(2), psi(np.array([3.0, 5.0])) - psi(8.0), 400).round(3)
    array([3., 5.])
    """
    for _ in range(sweeps):
        alpha = np.clip(_inverse_digamma(psi(alpha.sum()) + mean_log), *_ALPHA_RANGE)
    return alpha


def gamma_shape(mean: np.ndarray, mean_log: np.ndarray) -> np.ndarray:
    """The shape of a gamma distribution with these means of l and log l, by maximum likelihood.

    >>> gamma_shape(np.array([2.0]), psi(np.array([3.0])) - np.log(1.5)).round(6)
    array([3.])
    """
    gap = np.maximum(np.log(mean) - mean_log, 1e-9)
    shape = 0.5 / gap
    for _ in range(6):
        slope = shape**2 * (1 / shape - polygamma(1, shape))
        inverse = 1 / shape + (np.log(shape) - psi(shape) - gap) / slope
        shape = 1 / np.clip(inverse, 1e-6, 1e6)
    return np.clip(shape, *_ALPHA_RANGE)


def gamma_shape_at(rate: np.ndarray, mean_log: np.ndarray) -> np.ndarray:
    """The shape of a gamma distribution of known rate with this mean of log l."""
    return np.clip(_inverse_digamma(mean_log + np.log(rate)), *_ALPHA_RANGE)


def gamma_rate(shape: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """beta_k = alpha_k / <l_k> (slide "Algorithm issues, cont.")."""
    return np.clip(shape / np.maximum(mean, 1e-30), *_BETA_RANGE)


def learnt_priors(
    family: Family,
    hyper: Hyper,
    learn: tuple[bool, bool],
    mean_log: np.ndarray,
    mean: np.ndarray,
) -> Hyper:
    """Priors that maximise the density of the rows' weights; `learn` selects alpha, beta or both.

    `mean_log` and `mean` are the means over rows of log l_k and l_k (or of log m_k).
    """
    alpha, beta = hyper
    if not family.gamma:
        return Hyper(dirichlet_alpha(alpha, mean_log), beta) if learn[0] else hyper
    if learn[0]:
        alpha = gamma_shape(mean, mean_log) if learn[1] else gamma_shape_at(beta, mean_log)
    return Hyper(alpha, gamma_rate(alpha, mean) if learn[1] else beta)


def polya_alpha(
    alpha: np.ndarray, components: np.ndarray, counts: np.ndarray, spread: Any, sweeps: int = 3
) -> np.ndarray:
    """Raise the likelihood of counts whose weights were marginalised (Minka's fixed point).

    `components` and `counts` list the non-zero c_ik; `spread(alpha)` is the denominator: the sum of
    digamma(A + L_i) - digamma(A) for a Dirichlet, n log((1 + beta_k) / beta_k) for gammas.
    """
    for _ in range(sweeps):
        own = alpha[components]
        rise = np.bincount(components, psi(own + counts) - psi(own), minlength=len(alpha))
        alpha = np.clip(alpha * rise / np.maximum(spread(alpha), 1e-30), *_ALPHA_RANGE)
    return alpha
