"""The stacked average: many models of one table, weighted by how well they find hidden ones."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from falsezero.base._sklearn import (
    Estimator,
    Interval,
    check_feature_names,
    check_n_features,
    fit_context,
)
from falsezero.base.estimator import spawn_seeds
from falsezero.data.blocks import Block, Blocks
from falsezero.data.errors import DataError
from falsezero.data.shards import Shards
from falsezero.data.table import Table
from falsezero.data.validate import check_room, check_table
from falsezero.inference.progress import stages
from falsezero.models.average.in_files import TableInFiles
from falsezero.models.average.large import CellOdds, draw_large, is_large, large_members
from falsezero.models.average.members import (
    Member,
    default_members,
    expected_rows,
    fit_members,
)
from falsezero.models.average.stacking import (
    Stack,
    StackingTrial,
    clipped_logit,
    deal_ones,
    hide_entries,
    learn,
    pick_ones_by_row,
    smoothed_column_rates,
)

__all__ = ["StackedAverage"]

POPULARITY = "popularity"
"""The last feature: how common the column is."""

_TRIAL_CELLS = 2_000_000
"""Cells of the rows that a trial looks at; a larger table is tried on some of its rows."""

_TRIAL_ZEROS, _ALL_ZEROS = 50_000, 100_000
"""Zeros that one trial, and all together, are learnt from, besides the hidden ones."""

_ENOUGH_HIDDEN = 2000
"""Hidden finds, in all trials together, from which weights are learnt well."""

_VISITED_CELLS, _FEW_TRIALS = 200_000, 3
"""Cells that more than a few trials may visit together."""

_FEWEST_HIDDEN = 10
"""Hidden finds below which weights are not learnt but equal."""

_BLOCK_CELLS = 1 << 20


class StackedAverage(Estimator):
    """Average many models of a table, with weights learnt by stacking on hidden finds.

    Some ones are hidden (turned into zeros), every member is fitted to the rest, and a ridge
    logistic regression learns from the members' log odds which zeros are the hidden ones. The
    members are then fitted to the whole table. No number of components has to be chosen: each
    family of factor models takes part with few and with many.

    With h the share of ones hidden, a zero whose cell would hold a one with probability p is a
    hidden find with odds h p / (1 - p), so that

        logit p_nt = intercept + sum_m weight_m logit((1 - h) p_m,nt)

    is calibrated by construction; the factor 1 - h takes the members, fitted to the whole table,
    to the level of those that the weights were learnt from. p is the probability that a look at
    a cell like this one records a one, given the rest of the table and this cell taken as zero.

    Parameters
    ----------
    members : list of (name, estimator or list of estimators), optional
        Models with `fit` and `reconstruct`. Estimators in one list are averaged before they are
        weighted. By default AspectBernoulli, BernoulliMixture and LogisticPCA with few and with
        many components, ImplicitALS, EASE, ColumnNeighbours, Beals, RowNeighbours and Margins, as
        far as the size of the table allows.
    share : float, default=0.1
        Share of the ones hidden in a trial.
    n_trials : int or None, default=None
        Trials with ones hidden evenly, from which the weights are learnt; one more, with ones
        hidden unevenly by row, is for judging only. The ones are dealt out to the trials like
        folds. By default as many as hide 2,000 ones in all or every one once, if the table is small
        enough for that; 3 at most for tables of 60,000 cells or more.
    ridge : float, default=10.0
        Penalty on the weights of the standardised log odds, for each trial.
    binarize : float or None, default=None
        Values above this number become ones; by default the table must be 0/1.
    random_state : int, Generator, RandomState or None
    verbose : int
        1 shows a progress bar, 2 prints a line for every model fitted.

    Attributes
    ----------
    members_ : list of Member
        The models, fitted to the whole table.
    feature_names_ : list of str
        Names of the members, and "popularity" for the log odds of the column's rate.
    weights_ : array of shape (n_features,)
        Weight of each, in the order of `feature_names_`.
    intercept_ : float
    rates_ : array of shape (n_columns,)
        Share of ones in each column.
    draws_ : list of StackingTrial
        The trials: hidden finds and other zeros, with the predictions of the members.
    n_features_in_, feature_names_in_
        As in `AspectBernoulli`.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> some = [("aspects", [fz.AspectBernoulli(k, prior=1) for k in (2, 4)]), ("ease", fz.EASE())]
    >>> model = StackedAverage(some, random_state=0).fit(table)
    >>> model.feature_names_, model.reconstruct(table).shape
    (['aspects', 'ease', 'popularity'], (100, 20))
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "members": [list, tuple, None],
        "share": [Interval(Real, 0, 1, closed="neither")],
        "n_trials": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "binarize": [Real, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        members: Any = None,
        *,
        share: float = 0.1,
        n_trials: int | None = None,
        ridge: float = 10.0,
        binarize: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.members = members
        self.share = share
        self.n_trials = n_trials
        self.ridge = ridge
        self.binarize = binarize
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Hide finds, learn the weights, and fit the members to the whole table.

        The table is given as for `AspectBernoulli.fit`, or as `Shards` where it is too large to
        visit every cell; `y` is ignored.
        """
        values = self._filed(X) if isinstance(X, Shards | TableInFiles) else self._checked(X, True)
        members = self._members(values)
        seeds = spawn_seeds(self.random_state, self._trials(values) + 2)
        with stages(type(self).__name__, self.verbose, len(seeds) * len(members)) as tell:
            self.draws_ = list(self._draws(values, members, seeds, tell))
            self.members_ = fit_members(members, values, seeds[-1], tell)
        self.rates_ = smoothed_column_rates(values)
        self.feature_names_ = [*(member.name for member in members), POPULARITY]
        stack = self._stack()
        self.intercept_, self.weights_ = stack.intercept, stack.weights
        return self

    def reconstruct(self, X: Any) -> Any:
        """The probability of a one in every cell, the cell itself taken as zero where it is zero.

        Returns
        -------
        array of shape (n_rows, n_columns), or a `Table` with the labels of a `Table`
        """
        check_room(self, X)
        parts = [part for _, part in self.expected_by_block(X)]
        array = np.concatenate(parts)
        if not isinstance(X, Table):
            return array
        return Table(array, rows=X.rows, columns=X.columns, name=X.name)

    def expected_by_block(self, X: Any) -> Iterator[tuple[Block, np.ndarray]]:
        """The row blocks of a table, each with its probabilities: never the whole table at once."""
        check_is_fitted(self)
        values = self._checked(X, reset=False)
        for block in Blocks.cut(values, max(1, _BLOCK_CELLS // values.shape[1])):
            rows = np.arange(block.rows.start, block.rows.stop)
            yield block, expit(self.log_odds(values, rows, known=False))

    def log_odds(self, values: Any, rows: np.ndarray, *, known: bool = True) -> np.ndarray:
        """Log odds of a one in some rows of a CSR table; `known`: it is the table of the fit."""
        stack = Stack(self.intercept_, self.weights_)
        total = np.full((len(rows), values.shape[1]), stack.intercept)
        for weight, odds in zip(stack.weights, self._features(values, rows, known), strict=True):
            total += weight * odds
        return total

    def cell_odds(self, shape: tuple[int, int]) -> CellOdds | None:
        """Log odds cell by cell, of the fitted table; None where all cells may be visited."""
        if not is_large(shape) or not CellOdds.can_judge(self.members_):
            return None
        return CellOdds(self.members_, self.rates_, self.intercept_, self.weights_, 1 - self.share)

    def _features(self, values: Any, rows: np.ndarray, known: bool) -> Iterator[np.ndarray]:
        """The log odds that each member gives the rows, at the level of the trials."""
        kept = 1 - self.share
        for member in self.members_:
            yield clipped_logit(kept * expected_rows(member, values, rows, known))
        yield clipped_logit(kept * self.rates_)

    def _filed(self, X: Shards | TableInFiles) -> TableInFiles:
        table = X if isinstance(X, TableInFiles) else TableInFiles(X)
        if self.members is not None or self.binarize is not None:
            raise DataError("An average of files takes neither members= nor binarize=.")
        if not is_large(table.shape):
            raise DataError(
                f"A table of {table.shape[0]:,} rows and {table.shape[1]:,} columns is small "
                "enough for memory, where more models can be averaged; hand it over as one table."
            )
        check_feature_names(self, table.shards, reset=True)
        check_n_features(self, table.shards, reset=True)
        return table

    def _checked(self, X: Any, reset: bool) -> sparse.csr_array:
        values = check_table(self, X, kind="binary", binarize=self.binarize, reset=reset)
        if is_large(values.shape):
            values = values.astype(np.float32, copy=False)
        return values if sparse.issparse(values) else sparse.csr_array(values)

    def _members(self, values: sparse.csr_array | TableInFiles) -> list[Member]:
        if self.members is None:
            large = is_large(values.shape)
            return large_members(values) if large else default_members(values.shape)
        return [
            Member(name, list(given) if isinstance(given, (list, tuple)) else [given])
            for name, given in self.members
        ]

    def _trials(self, values: sparse.csr_array | TableInFiles) -> int:
        if self.n_trials is not None:
            return self.n_trials
        n_ones = max(1, _n_ones(values))
        enough = ceil(_ENOUGH_HIDDEN / (self.share * n_ones))
        affordable = max(_FEW_TRIALS, _VISITED_CELLS // (values.shape[0] * values.shape[1]))
        return int(min(enough, affordable, max(1, round(1 / self.share))))

    def _draws(
        self, values: Any, members: list[Member], seeds: Any, tell: Any
    ) -> Iterator[StackingTrial]:
        """Trials with ones hidden evenly, to learn weights from, then one by row, for judging."""
        even = len(seeds) - 2
        if is_large(values.shape) and CellOdds.can_judge(members):
            for scheme, seed in zip(["cells"] * even + ["rows"], seeds, strict=False):
                yield draw_large(values, members, scheme, self.share, seed, tell)
            return
        rng = np.random.default_rng(seeds[0])
        dealt = deal_ones(values, self.share, even, rng)
        for hidden, seed in zip(dealt, seeds, strict=False):
            yield self._draw(values, members, ("cells", hidden, rng), seed, tell)
        rng = np.random.default_rng(seeds[-2])
        hidden = pick_ones_by_row(values, self.share, rng)
        yield self._draw(values, members, ("rows", hidden, rng), seeds[-2], tell)

    def _draw(
        self, values: Any, members: list[Member], trial: Any, seed: Any, tell: Any
    ) -> StackingTrial:
        """Hide ones, fit the members to the rest, and let them judge zeros."""
        scheme, was_hidden, rng = trial
        spoilt = hide_entries(values, was_hidden)
        rows, columns, hidden, weight = _sample_zeros(values, spoilt, self._zeros(values), rng)
        fitted = fit_members(members, spoilt, seed, tell)
        features = np.empty((len(rows), len(members) + 1), dtype=np.float32)
        for some, at in _row_blocks(rows, values.shape[1]):
            place = np.searchsorted(some, rows[at])
            for m, member in enumerate(fitted):
                expected = expected_rows(member, spoilt, some, known=True)
                features[at, m] = clipped_logit(expected[place, columns[at]])
        features[:, -1] = clipped_logit(smoothed_column_rates(spoilt))[columns]
        ones = max(1, int((values.data == 1).sum()))
        share = max(was_hidden.sum(), 0.5) / ones
        return StackingTrial(scheme, float(share), rows, columns, hidden, weight, features)

    def _zeros(self, values: sparse.csr_array) -> int:
        """How many zeros a trial is learnt from."""
        return min(_TRIAL_ZEROS, _ALL_ZEROS // self._trials(values))

    def _stack(self) -> Stack:
        """Learnt weights, or equal ones where too little could be hidden."""
        n_features = len(self.feature_names_)
        if sum(draw.hidden.sum() for draw in self.draws_) < _FEWEST_HIDDEN:
            return Stack(-np.log(1 - self.share), np.full(n_features, 1 / n_features))
        return learn(self.draws_, self.ridge)

    def _is_whole(self) -> bool:
        """Whether the parts of an average read from a file match."""
        n_features = len(self.members_) + 1
        return (
            self.rates_.shape == (self.n_features_in_,)
            and self.weights_.shape == (n_features,)
            and len(self.feature_names_) == n_features
            and all(
                estimator.n_features_in_ == self.n_features_in_
                for member in self.members_
                for estimator in member.estimators
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _n_ones(values: sparse.csr_array | TableInFiles) -> int:
    return values.n_ones if isinstance(values, TableInFiles) else int((values.data == 1).sum())


def _sample_zeros(
    values: Any, spoilt: Any, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Zeros of the spoilt table, by row: all hidden ones, and a limited number of others."""
    n_rows, n_columns = values.shape
    tried = np.arange(n_rows)
    if n_rows * n_columns > _TRIAL_CELLS:
        size = min(n_rows, max(200, _TRIAL_CELLS // n_columns))
        tried = np.sort(rng.choice(n_rows, size, replace=False))
    was, now = values[tried].toarray(), spoilt[tried].toarray()
    hidden_row, hidden_column = np.nonzero((was == 1) & (now == 0))
    zero_row, zero_column = np.nonzero(was == 0)
    kept = np.arange(len(zero_row))
    if len(kept) > most:
        kept = rng.choice(len(kept), most, replace=False)
    each = len(zero_row) / max(1, len(kept))
    rows = np.r_[tried[hidden_row], tried[zero_row[kept]]]
    columns = np.r_[hidden_column, zero_column[kept]]
    hidden = np.r_[np.ones(len(hidden_row), bool), np.zeros(len(kept), bool)]
    weight = np.where(hidden, 1.0, each)
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], hidden[order], weight[order]


def _row_blocks(rows: np.ndarray, n_columns: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Distinct rows, some at a time, and where their cells lie among cells sorted by row."""
    distinct = np.unique(rows)
    step = max(1, _BLOCK_CELLS // n_columns)
    for i in range(0, len(distinct), step):
        some = distinct[i : i + step]
        first, last = np.searchsorted(rows, [some[0], some[-1] + 1])
        yield some, slice(first, last)
