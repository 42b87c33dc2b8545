"""The paper's own algorithm and ours, side by side."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from falsezero.models.noisy_or.noisy_or import NoisyOr

__all__ = ["ALGORITHMS", "OURS", "PAPER", "fit_sources"]

PAPER, OURS = "paper's algorithm", "ours"

ALGORITHMS: dict[str, dict[str, Any]] = {
    PAPER: {"start": "random", "inference": "factorised", "acceleration": None, "tol": 1e-5},
    OURS: {},
}
"""The paper's: random start, factorised posterior, plain EM. Claims are judged on it."""


def fit_sources(name: str, table: Any, n_sources: int, seed: int, **options: Any) -> NoisyOr:
    """A fit by one of the two algorithms, without a word about iterations that ran out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings = {**ALGORITHMS[name], **options}
        return NoisyOr(n_sources, random_state=seed, **settings).fit(table)
