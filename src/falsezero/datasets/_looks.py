"""Repeated looks drawn from a model, with what was really there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from falsezero.data.looks import Looks

__all__ = ["SimulatedLooks", "make_looks"]


class SimulatedLooks(NamedTuple):
    """Looks and the truth behind them.

    `present` says what was there, `content` how likely that was, `detection` and `row_effect` how
    it showed.
    """

    looks: Looks
    present: NDArray[np.bool_]
    content: NDArray[np.float64]
    detection: NDArray[np.float64]
    row_effect: NDArray[np.float64]


def make_looks(
    n_rows: int = 300,
    n_columns: int = 60,
    n_looks: int = 3,
    n_components: int = 3,
    *,
    detection: tuple[float, float] = (0.2, 0.8),
    row_effect: float = 0.0,
    heterogeneity: float = 0.0,
    false_alarms: float = 0.0,
    concentration: float = 0.3,
    shape: tuple[float, float] = (0.3, 0.6),
    random_state: Any = None,
) -> SimulatedLooks:
    """Draw repeated looks at a table from the Aspect Bernoulli model.

    Every column has a detection rate between the two given; `row_effect` and `heterogeneity` are
    standard deviations on the logit scale between rows and between cells, `false_alarms` is the
    probability of a one where nothing is there.

    >>> made = make_looks(5, 4, 2, random_state=0)
    >>> made.looks.shape, made.present.shape
    ((5, 2, 4), (5, 4))
    """
    rng = np.random.default_rng(random_state)
    weights = rng.dirichlet(np.full(n_components, concentration), size=n_rows)
    content = weights @ rng.beta(*shape, size=(n_components, n_columns))
    present = rng.random(content.shape) < content
    rates = rng.uniform(*detection, size=n_columns)
    rows = row_effect * rng.standard_normal(n_rows)
    cells = heterogeneity * rng.standard_normal(content.shape)
    p = np.where(present, expit(logit(rates) + rows[:, None] + cells), false_alarms)
    values = rng.random((n_rows, n_looks, n_columns)) < p[:, None, :]
    looks = Looks(values.astype(float), name="looks")
    return SimulatedLooks(looks, present, content, rates, rows)
