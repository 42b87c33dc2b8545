"""Which models an average is made of, and the probabilities that they give."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from falsezero.base.factor_model import FactorModel
from falsezero.models.average.in_files import TableInFiles
from falsezero.models.baselines.beals import Beals
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture
from falsezero.models.baselines.column_neighbours import ColumnNeighbours
from falsezero.models.baselines.ease import EASE
from falsezero.models.baselines.implicit_als import ImplicitALS
from falsezero.models.baselines.logistic_pca import LogisticPCA
from falsezero.models.baselines.margins import Margins
from falsezero.models.baselines.row_neighbours import RowNeighbours
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli

__all__ = ["Member", "default_members", "expected_rows", "fit_members"]

_LOGISTIC_CELLS, _LOGISTIC_WORK = 2e6, 5e8
"""Cells, and cells times squared components, that logistic PCA may visit in an iteration."""

_PAIRS_OF_ROWS = 4e8
"""Pairs of rows that may be compared."""

_MANY_STARTS, _STARTS = 50_000, 3
"""Cells up to which factor models with random starts are fitted several times, and how often."""

_WIDEST = 4000
"""Columns up to which a matrix of all pairs of columns is held."""


class Member(NamedTuple):
    """One member of the average: a name, and estimators whose probabilities are averaged."""

    name: str
    estimators: Sequence[Any]


def default_members(shape: tuple[int, int]) -> list[Member]:
    """The members for a table of this shape: those whose cost its size allows.

    Factor models are averaged over small and over large numbers of components, two features per
    family; which of them matters is left to the weights.

    >>> [member.name for member in default_members((200, 30))][:2]
    ['AspectBernoulli, few components', 'AspectBernoulli, many components']
    """
    n_rows, n_columns = shape
    smaller = min(shape)
    cells = n_rows * n_columns
    starts = _STARTS if cells <= _MANY_STARTS else 1
    logistic, least_squares = _dense_sizes(cells, smaller)
    members = [
        *_few_and_many("AspectBernoulli", _aspects, (2, 4, 8, 16, 32), 8, smaller, starts),
        *_few_and_many("BernoulliMixture", _mixture, (4, 8, 16, 32, 64), 16, n_rows // 4, starts),
        *_few_and_many("LogisticPCA", _logistic, _restarted(logistic, starts), 12, smaller),
    ]
    if logistic:
        weak = [LogisticPCA(k, ridge=1.0, tol=1e-4, max_iter=100) for k in logistic if k <= 12]
        members.append(Member("LogisticPCA, weak ridge", weak))
    if least_squares:
        members.append(Member("ImplicitALS", [ImplicitALS(k) for k in least_squares]))
    if n_columns <= _WIDEST:
        members += [Member(f"EASE, ridge {r:g}", [EASE(r)]) for r in (2.0, 6.0, 20.0)]
        members += [Member("ColumnNeighbours", [ColumnNeighbours()]), Member("Beals", [Beals()])]
    if n_rows**2 <= _PAIRS_OF_ROWS:
        near = [k for k in (20, 100) if k < n_rows]
        members += [Member(f"RowNeighbours, {k}", [RowNeighbours(k)]) for k in near]
    return [*members, Member("Margins", [Margins()])]


def _dense_sizes(cells: int, smaller: int) -> tuple[list[int], list[int]]:
    """Numbers of components of logistic PCA and of least squares, which visit every cell."""
    if cells > _LOGISTIC_CELLS:
        return [], []
    logistic = [k for k in (2, 5, 12, 30) if k < smaller and cells * k * k <= _LOGISTIC_WORK]
    return logistic, [k for k in (16, 32) if k < smaller]


def _restarted(sizes: list[int], starts: int) -> list[int]:
    """Few components so many times: with many, the ridge leaves about one optimum."""
    return [k for k in sizes for _ in range(starts if k < 12 else 1)]


def _few_and_many(
    family: str, make: Any, sizes: Iterable[int], many: int, limit: int, starts: int = 1
) -> list[Member]:
    """Two members of a family; each number of components gets so many random starts."""
    possible = [k for k in sizes if k < limit]
    few, rest = [k for k in possible if k < many], [k for k in possible if k >= many]
    named = [(f"{family}, few components", few), (f"{family}, many components", rest)]
    return [Member(name, [make(k) for k in chosen * starts]) for name, chosen in named if chosen]


def _aspects(k: int) -> AspectBernoulli:
    return AspectBernoulli(k, prior=1.0, tol=1e-5, max_iter=300)


def _mixture(k: int) -> BernoulliMixture:
    return BernoulliMixture(k, prior=1.0, tol=1e-5, max_iter=300)


def _logistic(k: int) -> LogisticPCA:
    return LogisticPCA(k, ridge=4.0, tol=1e-4, max_iter=100)


def fit_members(
    members: Sequence[Member], values: Any, seed: np.random.SeedSequence, tell: Any
) -> list[Member]:
    """Fresh copies of the members, fitted to a table; `tell` is called with the name of each."""
    fitted = []
    for member in members:
        tell(member.name)
        seeds = seed.spawn(len(member.estimators))
        own = [_seeded(clone(e), s) for e, s in zip(member.estimators, seeds, strict=True)]
        with warnings.catch_warnings():
            # A member may stop early: rough fits average as well as settled ones.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.append(Member(member.name, [_fitted(estimator, values) for estimator in own]))
    return fitted


def _fitted(estimator: Any, values: Any) -> Any:
    return values.fitted(estimator) if isinstance(values, TableInFiles) else estimator.fit(values)


def _seeded(estimator: Any, seed: np.random.SeedSequence) -> Any:
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=int(seed.generate_state(1)[0]))
    return estimator


def expected_rows(member: Member, values: Any, rows: np.ndarray, known: bool) -> np.ndarray:
    """Probability of a one in every cell of some rows of a table, the mean over the estimators.

    With `known` the rows are those of the fitted table, in its order, and factor models have their
    weights already.
    """
    parts = [_expected(estimator, values, rows, known) for estimator in member.estimators]
    return parts[0] if len(parts) == 1 else np.mean(parts, axis=0)


def _expected(estimator: Any, values: Any, rows: np.ndarray, known: bool) -> np.ndarray:
    if known and isinstance(estimator, FactorModel):
        return np.asarray(estimator._expected(estimator.row_weights_[rows]))
    return np.asarray(estimator.reconstruct(values[rows]))
