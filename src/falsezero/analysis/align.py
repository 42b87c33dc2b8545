"""Match the components of two fits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["Match", "match_components"]


class Match(NamedTuple):
    """A one-to-one match of components."""

    reference: np.ndarray
    """Positions in the reference, in order; those left without a partner are not listed."""
    found: np.ndarray
    """For each of them, the position of its partner."""
    similarity: np.ndarray
    """Cosine of the angle between the two."""
    score: float
    """Weighted mean similarity; a reference component without a partner counts as 0."""


def match_components(reference: Any, found: Any, weights: Any = None) -> Match:
    """Pair components so that their weighted cosine similarity is largest.

    This is the measure of Šingliar and Hauskrecht (noisy-or, section 5.4.2), a maximal-weight
    matching in a bipartite graph.

    Parameters
    ----------
    reference, found : array of shape (n_components, n_columns)
        They may differ in the number of components.
    weights : array, optional
        Weight of each reference component, such as its prior probability; equal by default. They
        are made to sum to one.

    Examples
    --------
    >>> match = match_components([[1, 0, 0], [0, 1, 1]], [[0, 1, 1], [1, 1, 0]])
    >>> match.found.tolist(), match.similarity.round(2).tolist()
    ([1, 0], [0.71, 1.0])
    """
    x, y = (np.asarray(a, dtype=float) for a in (reference, found))
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ValueError(
            f"Components to match need the same columns, but have shapes {x.shape} and {y.shape}."
        )
    share = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    if share.shape != (len(x),):
        raise ValueError(
            f"weights= needs one number per reference component ({len(x)}), "
            f"but has shape {share.shape}."
        )
    if not (share >= 0).all() or (len(x) and not share.any()):
        raise ValueError("weights= must not be negative, and at least one must be above zero.")
    share = share / max(share.sum(), np.finfo(float).tiny)
    cosine = _unit(x) @ _unit(y).T
    rows, columns = linear_sum_assignment(share[:, None] * cosine, maximize=True)
    similarity = cosine[rows, columns]
    return Match(rows, columns, similarity, float(share[rows] @ similarity))


def _unit(vectors: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = np.divide(vectors, norm, out=np.zeros_like(vectors), where=norm > 0)
    return unit
