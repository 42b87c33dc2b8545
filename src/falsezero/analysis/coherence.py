"""Topic coherence: do the strongest words of a component really occur together?

Words count as occurring together when they occur in the same row. With that as the window, the
measures are those of M. Röder, A. Both and A. Hinneburg, "Exploring the space of topic coherence
measures", WSDM 2015, and agree with gensim's ``CoherenceModel``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from falsezero.analysis.topics import observed_counts
from falsezero.data.numbers import checked_count
from falsezero.data.tidy import Tidy

__all__ = ["COHERENCE_MEASURES", "coherence"]

_EPSILON = 1e-12
"""Added to joint probabilities before a logarithm is taken, as in the paper."""


def coherence(model: Any, table: Any, *, measure: str = "npmi", n: int = 10) -> Tidy:
    """Coherence of every component's `n` strongest words in a table; larger is better.

    Parameters
    ----------
    model : fitted model whose components are over words
    table : Table, array, sparse array or data frame
        Usually the training table; a larger reference collection with the same columns is better.
    measure : {"npmi", "c_v", "u_mass"}, default="npmi"
        "npmi" is the mean normalised pointwise mutual information of all pairs of words, between
        -1 and 1. "c_v" compares each word's vector of NPMI values with the sum over all words by
        cosine. "u_mass" is the mean log conditional probability of a word given a stronger one.
    n : int, default=10
        Words of each component.

    Returns
    -------
    Tidy with columns component, coherence

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.Table([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 4, 1], [0, 0, 1, 1]])
    >>> coherence(fz.PLSA(2, random_state=0).fit(table), table, n=2)
    component  coherence
            0          1
            1          1
    """
    n = checked_count(n, "n", least=1)
    if measure not in COHERENCE_MEASURES:
        known = ", ".join(COHERENCE_MEASURES)
        raise ValueError(f"measure={measure!r} is not known; choose one of {known}.")
    if n < 2:
        raise ValueError(f"Coherence compares words with each other, so n={n} must be at least 2.")
    present = observed_counts(model, table)
    present.data = (present.data > 0).astype(float)
    n_rows = present.shape[0]
    by_column, values = present.tocsc(), []
    for theta in model.components_:
        words = np.argsort(-theta, kind="stable")[:n]
        chosen = by_column[:, words]
        together = (chosen.T @ chosen).toarray() / n_rows
        values.append(COHERENCE_MEASURES[measure](together))
    return Tidy(component=np.arange(len(values)), coherence=np.array(values))


def _npmi_matrix(together: np.ndarray) -> np.ndarray:
    """NPMI of every pair of words; 0 where a word never occurs."""
    single = np.diag(together)
    expected = np.outer(single, single)
    joint = together + _EPSILON
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(joint / expected) / -np.log(joint)
    return np.where(expected > 0, values, 0.0)


def _npmi(together: np.ndarray) -> float:
    values = _npmi_matrix(together)
    return float(values[~np.eye(len(values), dtype=bool)].mean())


def _c_v(together: np.ndarray) -> float:
    vectors = _npmi_matrix(together)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    cosine = np.divide(vectors @ whole, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    return float(cosine.mean())


def _u_mass(together: np.ndarray) -> float:
    later, earlier = np.tril_indices(len(together), -1)
    given = np.diag(together)[earlier]
    joint = together[later, earlier] + _EPSILON
    ratio = np.divide(joint, given, out=np.ones_like(joint), where=given > 0)
    return float(np.log(ratio).mean())


COHERENCE_MEASURES: dict[str, Callable[[np.ndarray], float]] = {
    "npmi": _npmi,
    "c_v": _c_v,
    "u_mass": _u_mass,
}
"""Each measure as a function of the shares of rows in which pairs of words occur together."""
