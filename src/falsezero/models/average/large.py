"""Averages of tables with too many cells to visit: every step costs by the ones.

Members are those that know a cell from a few numbers of its row and its column. The trial hides
ones in some of the rows, and draws the zeros beside them from the members themselves, with the
weights that importance sampling gives them. Zeros above a level come from a bounded search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from falsezero.kernels.best_cells import products_at, zeros_above
from falsezero.models.average.in_files import TableInFiles
from falsezero.models.average.members import Member, fit_members
from falsezero.models.average.stacking import (
    FLOOR,
    StackingTrial,
    clipped_logit,
    hide_ones,
    smoothed_column_rates,
)
from falsezero.models.baselines.margins import Margins
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli

__all__ = ["CellOdds", "draw_large", "is_large", "large_members"]

LARGE = 1e8
"""Cells above which no step of an average may visit them all."""

_FEW, _MANY = (4, 8), (16, 32)
_ITERATIONS = 30

_MARGIN_CELLS = 2e7
"""Different row totals times columns that the margins are solved with."""

_TRIAL_ONES = 1_000_000
"""Ones of the rows that a trial is made on."""

_JUDGED = 50_000
"""Hidden finds, and zeros beside them, that a trial looks at."""

_ROWS_AT_A_TIME, _ONES_AT_A_TIME = 20_000, 2_000_000
"""Rows that are searched at a time, and ones that they have: candidates are a few times as many."""

_ANY = 1e-30
"""Below every probability of a member."""


def is_large(shape: tuple[int, int]) -> bool:
    """Whether a table has too many cells for a visit to each."""
    return shape[0] * shape[1] > LARGE


def large_members(values: sparse.csr_array | TableInFiles) -> list[Member]:
    """The members for a large table."""
    members = [
        Member(f"AspectBernoulli, {name} components", [_aspects(k) for k in sizes])
        for name, sizes in (("few", _FEW), ("many", _MANY))
    ]
    if isinstance(values, TableInFiles):
        totals, has_gaps = values.totals, values.n_missing > 0
    else:
        totals = np.unique(values.sum(axis=1))
        has_gaps = bool(np.isnan(totals).any())
    if not has_gaps and len(totals) * values.shape[1] <= _MARGIN_CELLS:
        members.append(Member("Margins", [Margins(max_iter=30, tol=1e-4)]))
    return members


def _aspects(k: int) -> AspectBernoulli:
    return AspectBernoulli(k, prior=1.0, tol=1e-4, max_iter=_ITERATIONS)


class _Voice(NamedTuple):
    """A member as factors whose products are its probabilities, or as margins."""

    factors: list[tuple[np.ndarray, np.ndarray]]
    """Row weights and F', columns by components, for each of its estimators."""
    margins: tuple[np.ndarray, np.ndarray] | None


class CellOdds:
    """Log odds of a one by a stack of members, cell by cell.

    Parameters
    ----------
    members : sequence of Member
        Fitted, with `AspectBernoulli` or `Margins` only (see `can_judge`).
    rates : array of shape (n_columns,)
        Share of ones in each column.
    intercept, weights : float and array
        Of the stack, the last weight that of the rates; `kept` is what members are multiplied by.
    """

    def __init__(
        self,
        members: Sequence[Member],
        rates: np.ndarray,
        intercept: float = 0.0,
        weights: np.ndarray | None = None,
        kept: float = 1.0,
    ):
        self.voices = [_voice(member) for member in members]
        self.rates, self.kept, self.intercept = rates, kept, intercept
        n = len(self.voices) + 1
        self.weights = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)
        self.popularity = clipped_logit(kept * rates)

    @staticmethod
    def can_judge(members: Sequence[Member]) -> bool:
        """Whether every member knows a cell without its whole row, and one has factors."""
        kinds = {type(e) for member in members for e in member.estimators}
        return AspectBernoulli in kinds <= {AspectBernoulli, Margins}

    def features(self, rows: np.ndarray, columns: np.ndarray) -> Iterator[np.ndarray]:
        """Log odds of some cells by each member, and last those of the column's rate."""
        for voice in self.voices:
            yield clipped_logit(self.kept * _probability(voice, rows, columns))
        yield self.popularity[columns]

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Log odds of a one in some cells."""
        total = np.full(len(rows), self.intercept)
        for weight, odds in zip(self.weights, self.features(rows, columns), strict=True):
            total += weight * odds
        return total

    # -- zeros above one half ---------------------------------------------------------------------

    def surprising(
        self, values: sparse.csr_array
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, columns and log odds of all zeros whose log odds are above 0, some rows at a time.

        A sum of weighted log odds exceeds a level only where one of its terms does, by the mean:
        so it is enough to look at the zeros where a member with positive weight reaches what is
        missing when all the others say the most they can of the column.
        """
        per_row = max(1, values.nnz // values.shape[0])
        for rows in self._row_groups(values.shape[0], _ONES_AT_A_TIME // per_row):
            some = values[rows]
            at, columns = self._candidates(rows, some)
            odds = self.at(rows[at], columns)
            above = odds > 0
            yield rows[at[above]], columns[above], odds[above]

    def _row_groups(self, n_rows: int, most: int) -> Iterator[np.ndarray]:
        """Rows with similar margins, so that bounds are tight."""
        effects = [voice.margins[0] for voice in self.voices if voice.margins is not None]
        order = np.argsort(effects[0], kind="stable") if effects else np.arange(n_rows)
        step = max(1, min(_ROWS_AT_A_TIME, most))
        for start in range(0, n_rows, step):
            yield np.sort(order[start : start + step])

    def _candidates(self, rows: np.ndarray, some: Any) -> tuple[np.ndarray, np.ndarray]:
        """Zeros of some rows that may be above 0, as positions among the rows, and columns."""
        least, leading = self._thresholds(rows)
        found = [zeros_above(*_side_by_side(v, rows, 1 / least), some, 1.0) for v in leading]
        n_columns = len(self.rates)
        each = [np.repeat(np.arange(len(rows)), np.diff(s)) * n_columns + c for s, c in found]
        return np.divmod(np.unique(np.concatenate(each)), n_columns)  # type: ignore[return-value]

    def _thresholds(self, rows: np.ndarray) -> tuple[np.ndarray, list[_Voice]]:
        """What one of the leading members must reach in each column, and who they are."""
        most = self.intercept + self.weights[-1] * self.popularity
        leading, weight_sum = [], 0.0
        for weight, voice in zip(self.weights, self.voices, strict=False):
            if voice.margins is not None:
                effect = voice.margins[0][rows]
                extreme = effect.max() if weight > 0 else effect.min()
                most = most + weight * clipped_logit(self.kept * expit(extreme + voice.margins[1]))
            elif weight > 0:
                leading.append(voice)
                weight_sum += weight
            else:
                lowest = np.mean([columns.min(axis=1) for _, columns in voice.factors], axis=0)
                most = most + weight * clipped_logit(self.kept * lowest)
        if not leading:
            # Nobody has to reach anything: all zeros of a column may be above 0, or none.
            everyone = [voice for voice in self.voices if voice.factors]
            return np.where(most > 0, _ANY, np.inf), everyone
        needed = expit(-most / weight_sum)
        # Log odds have a floor: where it is enough, every cell of the column is.
        return np.where(needed <= FLOOR, _ANY, needed * (1 - 1e-9)) / self.kept, leading

    # -- cells drawn where ones are likely --------------------------------------------------------

    def sample(
        self, rows: np.ndarray, per_row: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw cells of some rows, `per_row` of each: rows, columns, and what each stands for.

        The mean of the factor models proposes columns, mixed with how common they are; a cell
        stands for 1 / (`per_row` times its probability of being drawn) cells of its row.
        """
        factors = [pair for voice in self.voices for pair in voice.factors]
        common = self.rates / self.rates.sum()
        at = np.repeat(np.arange(len(rows)), per_row)
        # Who proposes goes round, from a random one on, so that each has an equal part.
        turn = rng.integers(len(factors) + 1, size=len(rows))[:, None] + np.arange(per_row)
        proposer = turn.ravel() % (len(factors) + 1)
        columns = np.empty(len(at), dtype=np.int64)
        chance = np.zeros(len(at))
        for i, (weights, by_column) in enumerate(factors):
            own = proposer == i
            columns[own] = _draw_columns(weights[rows], by_column, at[own], rng)
        own = proposer == len(factors)
        columns[own] = np.searchsorted(np.cumsum(common), rng.random(own.sum()))
        columns.clip(0, len(common) - 1, out=columns)
        p = np.empty(len(at))
        for weights, by_column in factors:
            products_at(rows[at], columns, weights, by_column, p)
            chance += p / (weights[rows] @ by_column.sum(axis=0))[at]
        chance += common[columns]
        return rows[at], columns, (len(factors) + 1) / (per_row * chance)


def _voice(member: Member) -> _Voice:
    (first, *_) = member.estimators
    if isinstance(first, Margins):
        return _Voice([], (first.row_effects_, first.column_effects_))
    return _Voice(
        [
            (e.row_weights_, np.ascontiguousarray(e.components_.T, dtype=float))
            for e in member.estimators
        ],
        None,
    )


def _probability(voice: _Voice, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The probability of a one in some cells, by one member."""
    if voice.margins is not None:
        return np.asarray(expit(voice.margins[0][rows] + voice.margins[1][columns]))
    total, p = np.zeros(len(rows)), np.empty(len(rows))
    for weights, by_column in voice.factors:
        products_at(rows, columns, weights, by_column, p)
        total += p
    return total / len(voice.factors)


def _side_by_side(
    voice: _Voice, rows: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One pair of factors for the mean of a member's estimators, its columns scaled."""
    n = len(voice.factors)
    weights = np.hstack([weights[rows] for weights, _ in voice.factors]).astype(float) / n
    return weights, np.vstack([by_column.T for _, by_column in voice.factors]) * scale


def _draw_columns(
    weights: np.ndarray, by_column: np.ndarray, at: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """A column for each row in `at`, by p: a component by its part of the row, then a column."""
    n_columns, n_components = by_column.shape
    parts = _running_sums(weights * by_column.sum(axis=0))
    component = np.searchsorted(parts, at + rng.random(len(at))) - at * n_components
    component = component.clip(0, n_components - 1)
    place = np.searchsorted(_running_sums(by_column.T), component + rng.random(len(at)))
    return np.asarray(place - component * n_columns)


def _running_sums(shares: np.ndarray) -> np.ndarray:
    """Running sums of each row, scaled so that row n goes from n to n + 1, one after another."""
    sums = np.cumsum(shares, axis=1, dtype=float)
    return np.asarray((sums / sums[:, -1:] + np.arange(len(sums))[:, None]).ravel())


def stored_cells(values: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which of some cells, in the order of their rows, are stored in a table: ones or missing."""
    distinct, at = np.unique(rows, return_inverse=True)
    some = values[distinct]
    n_columns = values.shape[1]
    stored = np.repeat(np.arange(len(distinct)), np.diff(some.indptr)) * n_columns + some.indices
    cells = at * n_columns + columns
    place = np.searchsorted(stored, cells).clip(0, max(0, len(stored) - 1))
    return stored[place] == cells if len(stored) else np.zeros(len(cells), bool)


# -- the trial --------------------------------------------------------------------------------


def draw_large(
    values: sparse.csr_array | TableInFiles,
    members: list[Member],
    scheme: str,
    share: float,
    seed: Any,
    tell: Any,
) -> StackingTrial:
    """Hide ones in some rows, fit the members to these rows, and ask them about zeros."""
    rng = np.random.default_rng(seed)
    n_rows = values.shape[0]
    size = min(n_rows, max(2000, int(n_rows * _TRIAL_ONES / max(1, values.nnz))))
    tried = np.sort(rng.choice(n_rows, size, replace=False))
    was = values[tried]
    spoilt, is_hidden = hide_ones(was, scheme, share, rng)
    odds = CellOdds(fit_members(members, spoilt, seed, tell), smoothed_column_rates(spoilt))
    row_of = np.repeat(np.arange(size), np.diff(was.indptr))
    hidden = np.flatnonzero(is_hidden)
    judged = rng.choice(hidden, min(_JUDGED, len(hidden)), replace=False)
    looked = np.sort(rng.choice(size, min(size, _JUDGED), replace=False))
    rows, columns, weight = odds.sample(looked, -(-_JUDGED // len(looked)), rng)
    free = ~stored_cells(was, rows, columns)
    rows = np.r_[row_of[judged], rows[free]]
    columns = np.r_[was.indices[judged], columns[free]]
    each = np.full(len(judged), len(hidden) / max(1, len(judged)))
    weight = np.r_[each, weight[free] * size / len(looked)]
    is_find = np.arange(len(rows)) < len(judged)
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    features = np.column_stack([*odds.features(rows, columns)]).astype(np.float32)
    ones = max(1, int((was.data == 1).sum()))
    return StackingTrial(
        scheme,
        max(len(hidden), 0.5) / ones,
        tried[rows],
        columns,
        is_find[order],
        weight[order],
        features,
        size,
    )
