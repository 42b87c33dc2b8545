"""log p of rows of counts under a known Theta, with their weights integrated out.

Importance sampling, row by row: the draws of a row depend only on its content and a seed, so that
its score does not depend on the other rows.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp

from falsezero.base.bags import log_orders, row_seed, token_log_likelihood
from falsezero.data.blocks import Blocks
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.lengths import has_one_rate, log_length
from falsezero.models.discrete_pca.rows import KnownTheta

_WIDER = 0.7
"""Share of a row's tokens that the proposal uses, so that it is wider than the posterior."""

_PASSES = 30
"""Mean-field passes for a proposal; a fixed number, so that rows do not affect each other."""

_FROM_PRIOR = 0.2
"""Share of draws from the prior: no importance weight exceeds five times p(w | l)."""


class KnownModel(NamedTuple):
    """The parameters of the likelihood of a row."""

    family: Family
    hyper: Hyper
    components: np.ndarray


def bag_log_likelihood(
    model: KnownModel, values: sparse.csr_array, n_draws: int, seed: int = 0
) -> np.ndarray:
    """log p(w | L) of each row: its counts given the total of each group of columns.

    Gammas of one rate have shares that do not depend on their sum, so a Poisson block given its
    total is the multinomial of a Dirichlet. Otherwise p(L) is divided out.
    """
    family, hyper, _ = model
    if has_one_rate(hyper):
        return row_importance(
            model._replace(family=family._replace(gamma=False)), values, n_draws, seed
        )
    found = row_importance(model, values, n_draws, seed)
    if family.delta:
        found -= log_length(hyper, np.asarray(values @ family.poisson.astype(float)))
    return found


def row_importance(
    model: KnownModel, values: sparse.csr_array, n_draws: int, seed: int = 0
) -> np.ndarray:
    """log of the mean of p(w | l) p(l) / q(l) over draws from q, with p(L) of a Poisson block.

    q is a mean-field posterior from fewer tokens, and the prior for every fifth draw. The mean is
    unbiased, so its logarithm tends to be low.
    """
    values = sparse.csr_array(values, dtype=float)
    shape, rate = _proposals(model, values)
    found = row_constants(model.family, values)
    for i, (start, end) in enumerate(pairwise(values.indptr)):
        columns, counts = values.indices[start:end], values.data[start:end]
        rng = np.random.default_rng(row_seed(seed, columns, counts))
        logs = _importance_weights(model, columns, counts, (shape[i], rate[i]), n_draws, rng)
        found[i] += logsumexp(logs) - np.log(n_draws)
    return found


def _proposals(model: KnownModel, values: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Shapes and rates of each row's proposal: mean field, widened."""
    family, hyper, components = model
    blocks = Blocks.cut(values, block_rows=max(values.shape[0], 1))
    steps = KnownTheta(family, blocks, hyper)
    state, (local,) = steps.start(blocks, components.T)
    for _ in range(_PASSES):
        local, *_ = steps.row_step(blocks[0], local, state, 0)
    shape = hyper.alpha + _WIDER * (local.shape - hyper.alpha)
    return shape, hyper.beta + _WIDER * (local.rate - hyper.beta)


def _importance_weights(
    model: KnownModel,
    columns: np.ndarray,
    counts: np.ndarray,
    proposal: tuple[np.ndarray, np.ndarray],
    n_draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Logs of p(w | l) p(l) / q(l) of one row without its constant, for draws of l from q."""
    family, hyper = model.family, model.hyper
    from_prior = (np.arange(1, n_draws + 1) % round(1 / _FROM_PRIOR) == 0)[:, None]
    gammas = rng.standard_gamma(np.where(from_prior, hyper.alpha, proposal[0]))
    gammas = np.maximum(gammas, 1e-200)
    scale = np.where(from_prior, hyper.beta, proposal[1])
    weights = gammas / (scale if family.gamma else gammas.sum(axis=1, keepdims=True))
    prior = _log_density(family, weights, *hyper)
    log_p = _log_tokens(model, columns, counts, weights) + prior
    q = np.log1p(-_FROM_PRIOR) + _log_density(family, weights, *proposal)
    return log_p - np.logaddexp(q, np.log(_FROM_PRIOR) + prior)


def _log_tokens(
    model: KnownModel, columns: np.ndarray, counts: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """log p(w | l) of one row without its constant, for each draw of its weights."""
    total = weights.sum(axis=1)
    p = (weights / total[:, None]) @ model.components[:, columns].astype(float)
    log_p = np.log(np.maximum(p, 1e-300)) @ counts
    if model.family.delta:
        log_p += float(counts @ model.family.poisson[columns]) * np.log(total) - total
    return log_p


def _log_density(family: Family, x: np.ndarray, shape: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """log density of weights: gammas, or a Dirichlet."""
    terms = (shape - 1) * np.log(x) - gammaln(shape)
    if family.gamma:
        return (terms + shape * np.log(rate) - rate * x).sum(axis=1)
    return terms.sum(axis=1) + gammaln(shape.sum(axis=-1))


def row_constants(family: Family, values: sparse.csr_array) -> np.ndarray:
    """Row by row, log of L_g! / prod w_j! over the groups; a Poisson block has no L_g!."""
    constant = np.zeros(values.shape[0])
    for g in range(len(family.names)):
        inside = family.groups == g
        part = values[:, np.flatnonzero(inside)]
        constant += log_orders(part)
        if family.poisson[inside].any():
            constant -= gammaln(np.asarray(part.sum(axis=1), dtype=float).ravel() + 1)
    return constant


def log_given(model: KnownModel, values: sparse.csr_array, weights: np.ndarray) -> np.ndarray:
    """log p(w | l), row by row (slide "Likelihood with Components")."""
    family = model.family
    log_p = token_log_likelihood(values, weights, model.components)
    if family.delta:
        total = weights.sum(axis=1)
        in_poisson = np.asarray(values @ family.poisson.astype(float))
        log_p = log_p + in_poisson * np.log(total) - total
    return log_p + row_constants(family, values)
