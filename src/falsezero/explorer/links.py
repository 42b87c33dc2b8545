"""How a model's weights and components make a probability, in words that the page understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from falsezero.base import FactorModel

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
    """What a column has before any component speaks: -log(1 - leak), or a bias; may be empty."""


def _convex(weights: np.ndarray, components: np.ndarray, base: np.ndarray) -> np.ndarray:
    return weights @ components


def _noisy_or(weights: np.ndarray, components: np.ndarray, base: np.ndarray) -> np.ndarray:
    off = np.log1p(-np.minimum(weights[:, :, None] * components, 1 - 1e-9)).sum(axis=1)
    return -np.expm1(off - base)


def _logistic(weights: np.ndarray, components: np.ndarray, base: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(weights @ components + base)))


_LINKS: dict[str, Callable[..., np.ndarray]] = {
    "convex": _convex,
    "noisy-or": _noisy_or,
    "logistic": _logistic,
}


def factors_of(model: Any, weights: np.ndarray) -> Factors:
    """The link whose arithmetic gives this model's own answer, found by trying.

    A page that disagreed with the model would be worse than no page, so a link is taken only where
    it reproduces what the model expects of some rows. Models of counts expect a number, and the
    page shows the probability that it is not zero.
    """
    some = weights[np.linspace(0, len(weights) - 1, min(_LOOK_AT, len(weights)), dtype=int)]
    components = np.asarray(model.components_, dtype=float)
    base = _base(model, components.shape[1])
    expected = np.asarray(model._expected(some), dtype=float)
    for link, compute in _LINKS.items():
        if link == "convex" and not _is_convex(model, some):
            continue
        if _fits(compute(some, components, base), expected):
            return Factors(link, weights, components, base)
    if _fits(some @ components, expected):
        return Factors("at-least-once", weights, components, np.zeros(0))
    raise TypeError(
        f"explore knows models whose components add up, combine by noisy-or or pass through a "
        f"logistic curve; {type(model).__name__} does none of these."
    )


def _is_convex(model: Any, some: np.ndarray) -> bool:
    """Whether weights live on the simplex and are renormalised when a component is removed."""
    return type(model).reweigh is FactorModel.reweigh and bool(np.allclose(some.sum(axis=1), 1))


def _fits(computed: np.ndarray, expected: np.ndarray) -> bool:
    return computed.shape == expected.shape and bool(np.abs(computed - expected).max() < _AGREE)


def _base(model: Any, n_columns: int) -> np.ndarray:
    if hasattr(model, "leak_"):
        return -np.log1p(-np.broadcast_to(np.asarray(model.leak_, dtype=float), n_columns))
    bias = getattr(model, "bias_", getattr(model, "intercept_", 0.0))
    return np.broadcast_to(np.asarray(bias, dtype=float), n_columns)
