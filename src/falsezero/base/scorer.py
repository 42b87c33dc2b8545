"""Models without components: a score for every cell, and the probability it stands for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from falsezero.base._sklearn import Estimator, fit_context
from falsezero.base.capabilities import Capabilities
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks
from falsezero.data.table import Table
from falsezero.data.validate import check_room, check_table
from falsezero.inference.logistic import fit_logistic_bounded

__all__ = ["CellScorer", "ScoreLink", "fit_link"]

_BLOCK_CELLS = 1 << 22
"""Cells of the largest dense work array: 32 MB."""

_LINK_CELLS = 1 << 17
"""Cells, of whole rows spread evenly over the table, from which the link is learnt."""

_WIDTH_CELLS = 1 << 14
"""Most cells from which the width of a link is chosen."""

_MIN_SLOPE = 1e-6
"""Smallest slope: a link increases even where scores are uninformative."""

_WIDTHS = (1 / 16, 1 / 4, 1.0)
"""Candidates for the width of a link, from nearly logarithmic in the score to nearly linear."""

Scoring = Callable[[Block], np.ndarray]


class ScoreLink(NamedTuple):
    """An increasing map from scores to probabilities: expit(intercept + slope * z(score)).

    z(s) = asinh(s / 2wq) - asinh((1 - s) / 2w(1 - q)), with q the share of ones in the table. For
    scores well above wq and well below 1 - w(1 - q) it is logit(s) up to a constant, and it is
    defined for scores below zero and above one too.
    """

    rate: float
    width: float
    intercept: float
    slope: float

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """z(s) of the formula above."""
        low, high = 2 * self.width * self.rate, 2 * self.width * (1 - self.rate)
        return np.arcsinh(scores / low) - np.arcsinh((1 - scores) / high)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores."""
        probabilities: np.ndarray = expit(self.intercept + self.slope * self.spread(scores))
        return probabilities


def fit_link(scores: np.ndarray, values: np.ndarray) -> ScoreLink:
    """Logistic regression of zeros and ones on their scores, with an increasing link.

    The width is the most likely of a few, judged by at most 2^14 cells. The slope has a weak prior
    around one, which keeps it finite where scores separate zeros and ones perfectly.

    >>> link = fit_link(np.array([0.0, 0.1, 0.2, 0.9]), np.array([0.0, 0, 1, 1]))
    >>> bool(link(0.1) < link(0.2))
    True
    """
    rate = float((values.sum() + 0.5) / (len(values) + 1))
    link, found = ScoreLink(rate, _WIDTHS[0], 0.0, 1.0), []
    is_large = len(values) > _WIDTH_CELLS
    some = _some_cells(len(values)) if is_large else np.s_[:]
    for width in _WIDTHS:
        loss, link = _fit_width(link._replace(width=width), scores[some], values[some])
        found.append((loss, link))
    best = min(found, key=lambda pair: pair[0])[1]
    return _fit_width(best, scores, values)[1] if is_large else best


def _some_cells(n_cells: int) -> np.ndarray:
    """Random cells from which the width is chosen; a regular stride could hit one column only."""
    return np.random.default_rng(0).integers(0, n_cells, _WIDTH_CELLS)


def _fit_width(link: ScoreLink, scores: np.ndarray, values: np.ndarray) -> tuple[float, ScoreLink]:
    """Loss and link of the best intercept and slope, starting from those of `link`."""
    z = link.spread(scores)
    found = fit_logistic_bounded(
        np.column_stack([np.ones(len(z)), z]),
        values,
        0.01 * np.eye(2),
        centre=np.array([0.0, 1.0]),
        least=np.array([-np.inf, _MIN_SLOPE]),
        start=np.array([link.intercept, link.slope]),
    )
    intercept, slope = map(float, found.coefficients)
    return found.loss, link._replace(intercept=intercept, slope=slope)


class CellScorer(Estimator):
    """A model without components: it scores every cell from the other cells of its row.

    A model supplies its constructor and two small methods: `_learn` (stores what is learnt) and
    `_scoring` (the function from a block of rows to its scores). Scores are whatever the method
    defines; `reconstruct` turns them into probabilities by an increasing `ScoreLink`, learnt from
    the fitted table, which keeps their order.
    """

    capabilities = Capabilities("binary", link=None, row_score=None, sparse=True)
    judges_without_itself = True
    """Whether the score of a cell ignores the cell's own value."""
    binarize: float | None = None
    """Threshold above which a value counts as a one; scorers that take it as a parameter set it."""
    _parameter_constraints: dict[str, list[Any]] = {}

    @abstractmethod
    def _learn(self, blocks: Blocks) -> None:
        """Store what was learnt in attributes with a trailing underscore."""

    @abstractmethod
    def _scoring(self) -> Scoring:
        """The function that scores every cell of a block."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from a table, given as for `AspectBernoulli.fit`; `y` is ignored."""
        values = self._checked(X, reset=True)
        self._learn(self._cut(values))
        self._calibrate(values)
        return self

    def score_cells(self, X: Any) -> Any:
        """The method's own score of every cell; larger means that a one is more expected.

        Scores rank cells; they are not probabilities, which `reconstruct` gives.
        """
        return self._filled(X, self._scoring_of(X))

    def reconstruct(self, X: Any) -> Any:
        """The probability of a one in every cell, from the other cells of its row.

        Returns
        -------
        array of shape (n_rows, n_columns), or a `Table` with the labels of a `Table`
        """
        return self._filled(X, self.expected_by_block(X))

    def expected_by_block(self, X: Any) -> Iterator[tuple[Block, np.ndarray]]:
        """The row blocks of a table, each with its probabilities: never the whole table at once."""
        for block, scores in self._scoring_of(X):
            yield block, self._probabilities(scores)

    def _scoring_of(self, X: Any) -> Iterator[tuple[Block, np.ndarray]]:
        blocks = self._cut(self._checked(X, reset=False))
        scoring = self._scoring()
        for block in blocks:
            yield block, scoring(block)

    def _filled(self, X: Any, parts: Iterator[tuple[Block, np.ndarray]]) -> Any:
        check_room(self, X)
        found = [part for _, part in parts]
        array = found[0] if len(found) == 1 else np.concatenate(found)
        if not isinstance(X, Table):
            return array
        return Table(array, rows=X.rows, columns=X.columns, name=X.name)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return self.link_(scores)

    def _calibrate(self, values: Any) -> None:
        """Learn the link from rows spread evenly over the table."""
        n_rows, n_columns = values.shape
        count = min(n_rows, max(1, _LINK_CELLS // n_columns))
        sample = values[np.linspace(0, n_rows - 1, count).astype(int)]
        scoring = self._scoring()
        scores, ones = [], []
        for block in self._cut(sample):
            seen = ~as_dense(block.missing) if block.missing is not None else np.s_[:]
            scores.append(scoring(block)[seen].ravel())
            ones.append((as_dense(block.values) > 0)[seen].ravel())
        self.link_ = fit_link(np.concatenate(scores), np.concatenate(ones).astype(float))

    def _checked(self, X: Any, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
        kind = self.capabilities.table
        return check_table(self, X, kind=kind, binarize=self.binarize, reset=reset)

    def _cut(self, values: Any) -> Blocks:
        return Blocks.cut(values, max(1, _BLOCK_CELLS // self._width(values)))

    def _width(self, values: Any) -> int:
        """Cells of the widest work array for one row."""
        return int(values.shape[1])

    def _is_whole(self) -> bool:
        """Whether the arrays of a model read from a file have matching shapes."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self.capabilities.table == "weight"
        return tags
