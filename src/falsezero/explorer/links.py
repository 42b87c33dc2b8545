"""How a model's weights and components make a probability, in words that the page understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from falsezero.base.estimator import _TRACE as TRACE
from falsezero.base.estimator import FactorModel

__all__ = ["Factors", "factors_of"]

_LOOK_AT = 50
_AGREE = 1e-5


class Factors(NamedTuple):
    """All the page needs to compute the table by itself."""

    link: str
    weights: np.ndarray
    """Rows x components."""
    components: np.ndarray
    """Components x columns."""
    base: np.ndarray
    """What a column has before any component speaks: -log(1 - leak), or a bias."""
    trace: np.ndarray
    """What is added to a row's weights before they are renormalised; empty where they are not."""


def _convex(factors: Factors, keep: np.ndarray) -> np.ndarray:
    kept = (factors.weights + factors.trace) * keep
    return kept / kept.sum(axis=1, keepdims=True) @ factors.components


def _noisy_or(factors: Factors, keep: np.ndarray) -> np.ndarray:
    loud = (factors.weights * keep)[:, :, None] * factors.components
    return -np.expm1(np.log1p(-np.minimum(loud, 1 - 1e-9)).sum(axis=1) - factors.base)


def _logistic(factors: Factors, keep: np.ndarray) -> np.ndarray:
    return expit((factors.weights * keep) @ factors.components + factors.base)


def _tanh(factors: Factors, keep: np.ndarray) -> np.ndarray:
    return np.tanh((factors.weights * keep) @ factors.components / 2)


_LINKS: dict[str, Callable[[Factors, np.ndarray], np.ndarray]] = {
    "convex": _convex,
    "noisy-or": _noisy_or,
    "logistic": _logistic,
    "tanh": _tanh,
}


def factors_of(model: Any, weights: np.ndarray) -> Factors:
    """The link whose arithmetic gives this model's own answer, found by trying.

    A page that disagreed with the model would be worse than no page, so a link is taken only where
    it reproduces what the model expects of some rows, and of one that has all its weight on what is
    taken out, after an analyst's word on the components.
    """
    components = np.asarray(model.components_, dtype=float)
    n_components, n_columns = components.shape
    some = weights[np.linspace(0, len(weights) - 1, min(_LOOK_AT, len(weights)), dtype=int)]
    some = np.vstack([some, np.arange(n_components) == 0]).astype(float)
    keep = np.linspace(1, 0, n_components)[::-1]
    if type(model).reconstruct is FactorModel.reconstruct:
        expected = np.asarray(model._expected(model.reweigh(some, keep)), dtype=float)
        for link, compute in _LINKS.items():
            factors = Factors(link, some, components, *_extras(model, link, n_columns))
            if np.abs(compute(factors, keep) - expected).max() < _AGREE:
                return factors._replace(weights=weights)
    raise TypeError(
        f"explore knows models whose components add up, combine by noisy-or or pass through a "
        f"logistic curve; {type(model).__name__} does none of these."
    )


def _extras(model: Any, link: str, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Base and trace, as far as a link has them."""
    base, trace = np.zeros(n_columns), np.zeros(0)
    if link == "convex":
        trace = TRACE * (model.row_weights_.mean(axis=0) + np.finfo(float).tiny)
    elif link == "noisy-or":
        leak = np.minimum(np.asarray(getattr(model, "leak_", 0.0), dtype=float), 1 - 1e-9)
        base = np.broadcast_to(-np.log1p(-leak), n_columns)
    elif link == "logistic":
        base = np.broadcast_to(np.asarray(getattr(model, "bias_", 0.0), dtype=float), n_columns)
    return base, trace
