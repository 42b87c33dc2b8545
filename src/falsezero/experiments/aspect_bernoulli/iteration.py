"""Aspect Bernoulli paper, section 2.1: its own iterations, followed step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

__all__ = ["Pair", "expected_log_likelihood", "iterations", "log_likelihood", "uniform_start"]

_TINY = 1e-300


class Pair(NamedTuple):
    """Both factors: p = weights @ components."""

    weights: np.ndarray
    components: np.ndarray


def uniform_start(shape: tuple[int, int], k: int, rng: np.random.Generator) -> Pair:
    """Uniform random factors, weights normalised."""
    weights = rng.random((shape[0], k))
    return Pair(weights / weights.sum(axis=1, keepdims=True), rng.random((k, shape[1])))


def iterations(x: np.ndarray, pair: Pair, n: int, *, weights_first: bool = True) -> Iterator[Pair]:
    """The start and n steps: eqs. 12-17, or with ``weights_first=False`` eqs. 4-6 (9-11).

    >>> x = np.eye(4)
    >>> pairs = list(iterations(x, uniform_start((4, 4), 2, np.random.default_rng(0)), 50))
    >>> log_likelihood(x, pairs[-1]) > log_likelihood(x, pairs[0])
    True
    """
    yield pair
    for _ in range(n):
        pair = _step(x, pair, weights_first)
        yield pair


def _step(x: np.ndarray, pair: Pair, weights_first: bool) -> Pair:
    s, a = pair
    ones, zeros = _ratios(x, pair)
    new = s * (ones @ a.T + zeros @ (1 - a).T)
    new /= new.sum(axis=1, keepdims=True)
    if weights_first:
        s = new
        ones, zeros = _ratios(x, Pair(s, a))
    on, off = a * (s.T @ ones), (1 - a) * (s.T @ zeros)
    return Pair(new, on / np.maximum(on + off, _TINY))


def _ratios(x: np.ndarray, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    p = pair.weights @ pair.components
    return x / np.maximum(p, _TINY), (1 - x) / np.maximum(1 - p, _TINY)


def log_likelihood(x: np.ndarray, pair: Pair) -> float:
    """Log likelihood of a table (eq. 8)."""
    p = np.clip(pair.weights @ pair.components, 0, 1)
    return float((xlogy(x, p) + xlogy(1 - x, 1 - p)).sum())


def expected_log_likelihood(x: np.ndarray, pair: Pair) -> float:
    """Eq. 20: the posterior q of a pair, and minus the weighted entropies of its M-step."""
    ones, zeros = _ratios(x, pair)
    s, a = pair
    on, off = a * (s.T @ ones), (1 - a) * (s.T @ zeros)
    made = s * (ones @ a.T + zeros @ (1 - a).T)
    rows = xlogy(made, made).sum() - x.shape[0] * xlogy(x.shape[1], x.shape[1])
    total = on + off
    return float(rows + (xlogy(on, on) + xlogy(off, off) - xlogy(total, total)).sum())
