"""The evidence of a Bayesian fit, estimated rather than bounded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, xlog1py, xlogy
from sklearn.utils.validation import check_is_fitted

from falsezero.base.capabilities import capabilities_of
from falsezero.base.estimator import spawn_seeds
from falsezero.base.evidence import Evidence
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import UNOBSERVED
from falsezero.data.validate import check_table
from falsezero.kernels.annealed import draw_counts
from falsezero.models.discrete_pca.evidence import table_evidence
from falsezero.models.discrete_pca.uses import CountModel

__all__ = ["Evidence", "log_evidence"]


class _Parameters(NamedTuple):
    """Beta parameters of the sources and Dirichlet parameters of the weights."""

    alpha: Any
    beta: Any
    gamma: Any

    def blend(self, other: _Parameters, share: float) -> _Parameters:
        """Parameters of the density q^(1 - share) p^share."""
        pairs = zip(self, other, strict=True)
        return _Parameters(*((1 - share) * q + share * p for q, p in pairs))

    def log_density(self, weights: np.ndarray, components: np.ndarray) -> float:
        sources = beta_log_density(components, self.alpha, self.beta)
        return float(sources.sum() + dirichlet_log_density(weights, self.gamma).sum())


def log_evidence(
    model: Any,
    table: Any,
    *,
    method: str = "annealed",
    n_chains: int = 10,
    n_steps: int = 500,
    random_state: Any = None,
) -> Evidence:
    """Log evidence of a table by annealed importance sampling, for `BinaryICA` and `DiscretePCA`.

    For `DiscretePCA` each chain goes from the prior of the tokens' components to their posterior;
    see `falsezero.models.discrete_pca.evidence`. The rest is about `BinaryICA`.

    The bound `evidence_` treats a cell's cause, its row's weights and the sources as independent.
    Where rows mix heavily they are not, and the bound falls behind the evidence by more, the more
    components there are: it then prefers too few. Here each chain starts from a draw of the
    variational posterior q, with every column's ones made by that column alone, and moves in small
    steps to the model: at share s the parameters have density q^(1-s) prior^s and a cell has
    probability (1 - s) column + s sum_k w_k b_k, for which Gibbs sampling is as easy as for the
    model itself. The mean of the chains' weights is an unbiased estimate of the evidence (Neal,
    2001), so its logarithm tends to be too low. Chains keep the order of the components of the fit;
    where other orders are out of reach the value is too low by up to log(K!).

    When to use which: the bound where most rows have one main cause (it costs nothing); this
    estimate where rows mix and the table is small (time grows with cells times components times
    `n_steps`: a few seconds for 5000 cells and 3 components); ``fz.select(criterion="cells")`` for
    large tables, and for comparison with models that have no evidence.

    Parameters
    ----------
    model : BinaryICA fitted with inference="vb", or DiscretePCA, fitted or not
    table : Table, array, sparse array or data frame
        For BinaryICA the table that it was fitted on. Cells not observed are left out.
    method : {"annealed", "reverse", "harmonic"}
        For DiscretePCA "reverse" anneals from the posterior back to the prior and errs on the high
        side, so that both together bracket the evidence; "harmonic" is the harmonic mean of the
        slides, for comparison only.
    n_chains, n_steps : int
        Longer chains are worth more than many.
    random_state : int, Generator, RandomState or None

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(30, 10, 2, concentration=1, random_state=0).table
    >>> model = fz.BinaryICA(2, random_state=0).fit(table)
    >>> estimate = fz.log_evidence(model, table, n_steps=100, random_state=0)
    >>> bool(estimate.value > model.evidence_)
    True
    """
    if isinstance(model, CountModel):
        return table_evidence(model, table, method, n_steps, n_chains, random_state)
    if method != "annealed":
        raise ValueError(f'method={method!r} is not known for BinaryICA; choose "annealed".')
    codes = _codes(model, table)
    ones, zeros = (codes == 1).sum(axis=0), (codes == 0).sum(axis=0)
    base = (ones + 0.5) / (ones + zeros + 1)
    start = _Parameters(model.alpha_, model.beta_, model.gamma_)
    shapes = (model.alpha0, model.beta0, np.full(model.components_.shape[0], model.gamma0))
    generators = [np.random.default_rng(seed) for seed in spawn_seeds(random_state, n_chains)]
    known = float(ones @ np.log(base) + zeros @ np.log1p(-base))
    chains = np.array(
        [known + _chain(start, _Parameters(*shapes), codes, base, n_steps, g) for g in generators]
    )
    value = float(logsumexp(chains) - np.log(n_chains))
    spread = np.exp(chains - value).std(ddof=1) / np.sqrt(n_chains) if n_chains > 1 else np.inf
    return Evidence(value, float(spread), chains)


def _codes(model: Any, X: Any) -> np.ndarray:
    """Check the model and its table, and code its cells."""
    if not capabilities_of(model).has_evidence:
        raise TypeError(
            "The evidence needs a prior on everything, as BinaryICA(inference='vb') has; this "
            f"{type(model).__name__} has none on its row weights."
        )
    check_is_fitted(model)
    values: Any = check_table(model, X, binarize=model.binarize, reset=False)
    if values.shape != (len(model.gamma_), model.n_features_in_):
        raise ValueError(
            f"The evidence is that of the table the model was fitted on, "
            f"{len(model.gamma_)} x {model.n_features_in_}, but this one is "
            f"{values.shape[0]} x {values.shape[1]}."
        )
    dense = as_dense(values)
    return np.where(np.isnan(dense), UNOBSERVED, dense == 1).astype(np.uint8)


def _chain(
    start: _Parameters,
    prior: _Parameters,
    codes: np.ndarray,
    base: np.ndarray,
    n_steps: int,
    rng: np.random.Generator,
) -> float:
    """Log weight of one chain: the sum of the gains in joint density, step by step."""
    rows, ones = np.zeros_like(start.gamma), np.zeros_like(start.alpha)
    zeros = ones.copy()
    column = np.where(codes == 1, base, 1 - base)
    total, before = 0.0, 0.0
    for after in np.linspace(0.0, 1.0, n_steps + 1)[1:]:
        current = start.blend(prior, before)
        weights = _draw_simplex(current.gamma + rows, rng)
        components = _inside(rng.beta(current.alpha + ones, current.beta + zeros))
        likelihood = np.where(codes == 1, weights @ components, weights @ (1 - components))
        total += _log_gain(likelihood, column, codes != UNOBSERVED, before, after)
        change = prior.log_density(weights, components) - start.log_density(weights, components)
        total += (after - before) * change
        for counts in (rows, ones, zeros):
            counts[:] = 0.0
        uniforms = rng.random(codes.shape)
        draw_counts(
            codes, likelihood, column, weights, components, after, uniforms, rows, ones, zeros
        )
        before = after
    return total


def _log_gain(
    likelihood: np.ndarray, column: np.ndarray, observed: np.ndarray, before: float, after: float
) -> float:
    """Log probability of the observed cells at share `after`, less that at share `before`."""
    # A share of the column keeps both above zero, except after the very last step.
    top = np.maximum((1 - after) * column + after * likelihood, 1e-300)
    ratio = top / ((1 - before) * column + before * likelihood)
    return float(np.log(ratio).sum(where=observed))


def _draw_simplex(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = np.maximum(rng.standard_gamma(counts), np.finfo(float).tiny)
    shares: np.ndarray = draws / draws.sum(axis=1, keepdims=True)
    return shares


def _inside(probability: np.ndarray) -> np.ndarray:
    """Probabilities kept strictly between 0 and 1."""
    inside: np.ndarray = np.clip(probability, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    return inside


def beta_log_density(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Log of x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta) (Kabán and Bingham, eq. 3).

    >>> beta_log_density(np.array([0.2, 0.8]), 1.0, 1.0)
    array([0., 0.])
    """
    density: np.ndarray = xlogy(alpha - 1, x) + xlog1py(beta - 1, -x) - betaln(alpha, beta)
    return density


def dirichlet_log_density(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Log density of each row of `x` under a Dirichlet with the parameters `gamma`.

    G(sum gamma) / prod G(gamma) times prod x^(gamma-1) (Bishop, 2006, eq. B.16); `gamma` has one
    row per row of `x`, or one for all.

    >>> dirichlet_log_density(np.array([[0.2, 0.3, 0.5]]), np.ones(3)).round(6)
    array([0.693147])
    """
    norm = gammaln(np.sum(gamma, axis=-1)) - gammaln(gamma).sum(axis=-1)
    density: np.ndarray = norm + xlogy(gamma - 1, x).sum(axis=-1)
    return density
