"""Margins: a row effect plus a column effect, Rasch's model."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit

from falsezero.base._sklearn import Interval
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks

__all__ = ["Margins"]

_ROOT_STEPS = 200
"""Newton's steps take a handful; halving alone reaches the precision of a double in about 60."""


class Margins(CellScorer):
    """Row and column margins: logit p_nt = a_n + b_t (Rasch 1960), a table without structure.

    Maximises the log likelihood of the observed cells minus ridge/2 (sum a_n² + sum (b_t - c)²),
    with c the log odds of the whole table; the penalty keeps empty and full rows finite. Row and
    column effects are solved for in turn, each exactly, so the objective never falls. Rows of a
    complete table with the same number of ones share an effect and are solved once.

    A table that another model cannot predict better than `Margins` shows no structure beyond how
    common each column and how rich each row is. Here `score_cells` is the log odds, and
    `reconstruct` its probability without any further link.

    Parameters
    ----------
    ridge : float, default=0.1
        Precision of the penalty.
    max_iter : int, default=200
        Largest number of turns over rows and columns.
    tol : float, default=1e-8
        Largest change of an effect at which the fit ends.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    column_effects_ : array of shape (n_columns,)
        b.
    row_effects_ : array of shape (n_rows,)
        a of the fitted rows.
    objective_ : float
        Penalised log likelihood.
    n_iter_ : int
        Turns taken.
    history_ : list of dict
        The objective after each turn.

    References
    ----------
    G. Rasch. Probabilistic models for some intelligence and attainment tests. 1960.

    Examples
    --------
    >>> import falsezero as fz
    >>> model = fz.Margins().fit([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0]])
    >>> model.column_effects_.argsort().tolist()
    [2, 1, 0]
    """

    judges_without_itself = False

    _parameter_constraints = {
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "binarize": [Real, None],
    }

    def __init__(
        self,
        ridge: float = 0.1,
        *,
        max_iter: int = 200,
        tol: float = 1e-8,
        binarize: float | None = None,
    ):
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize

    def _learn(self, blocks: Blocks) -> None:
        ones, observed = blocks.column_counts
        totals, seen, members, back = _grouped(blocks)
        self.row_effects_ = self._solve(ones, observed.sum(), totals, seen, members)[back]

    def fit_margins(self, ones: np.ndarray, totals: np.ndarray, members: np.ndarray) -> Any:
        """Learn from the margins of a complete table: all that this model needs of it.

        Parameters
        ----------
        ones : array of shape (n_columns,)
            Number of ones in each column.
        totals, members : arrays
            Different numbers of ones in a row, in ascending order, and how many rows have each.

        Returns
        -------
        self
            With ``total_effects_``, the effect of a row with each total, in place of
            ``row_effects_``.
        """
        self.n_features_in_ = len(ones)
        members = np.asarray(members, dtype=float)
        self.totals_ = totals
        n_cells = members.sum() * len(ones)
        self.total_effects_ = self._solve(ones, n_cells, totals, None, members)
        return self

    def row_effects_of(self, totals: np.ndarray) -> np.ndarray:
        """Effects of rows with these totals, after `fit_margins`."""
        return np.asarray(self.total_effects_[np.searchsorted(self.totals_, totals)])

    def _solve(
        self,
        ones: np.ndarray,
        n_observed: float,
        totals: np.ndarray,
        seen: np.ndarray | None,
        members: np.ndarray,
    ) -> np.ndarray:
        """Solve for both effects in turn; returns those of the rows with each total."""
        centre = np.log((ones.sum() + 0.5) / (n_observed - ones.sum() + 0.5))
        a, b = np.zeros(len(totals)), np.full(len(ones), centre)
        self.history_ = []
        for _ in range(self.max_iter):
            before = b
            a = solve_effects(totals, b, seen, self.ridge, 0.0, a)
            b = solve_effects(ones, a, _group_counts(seen, members), self.ridge, centre, b)
            penalty = members @ a**2 + ((b - centre) ** 2).sum()
            fit = members @ (totals * a) + ones @ b - _log_sum(a, b, seen, members)
            self.history_.append({"objective": float(fit - self.ridge / 2 * penalty)})
            if np.abs(b - before).max() <= self.tol:
                break
        self.column_effects_ = b
        self.n_iter_ = len(self.history_)
        self.objective_ = self.history_[-1]["objective"]
        return solve_effects(totals, b, seen, self.ridge, 0.0, a)

    def _scoring(self) -> Scoring:
        b = self.column_effects_

        def score(block: Block) -> np.ndarray:
            totals, seen, _, back = _grouped([block])
            start = np.zeros(len(totals))
            a = solve_effects(totals, b, seen, self.ridge, 0.0, start)
            log_odds: np.ndarray = a[back][:, None] + b
            return log_odds

        return score

    def _calibrate(self, values: Any) -> None:
        """Scores are log odds already."""

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = expit(scores)
        return probabilities

    def _is_whole(self) -> bool:
        return self.column_effects_.shape == (self.n_features_in_,)


def solve_effects(
    totals: np.ndarray,
    others: np.ndarray,
    seen: np.ndarray | None,
    ridge: float,
    centre: float,
    start: np.ndarray,
) -> np.ndarray:
    """Effects e with sum_j seen_ij expit(e_i + others_j) + ridge (e_i - centre) = totals_i.

    The left side rises with e_i, so there is one root. Newton's step is taken where it stays inside
    a bracket that only shrinks and the step before it halved the error; elsewhere the bracket is
    halved, because Newton's steps alone can swing between two far ends for ever. `seen` holds how
    often each pair was observed, None for once each.

    >>> solve_effects(np.array([1.5]), np.zeros(2), None, 0.1, 0.0, np.ones(1)).round(3)
    array([0.877])
    """
    reach = np.abs(totals) + len(others) * (1 if seen is None else seen.max(initial=0.0))
    low, high = centre - reach / ridge, centre + reach / ridge
    effects: np.ndarray = np.clip(start, low, high)
    last: Any = np.inf
    for _ in range(_ROOT_STEPS):
        p = expit(effects[:, None] + others)
        rise = p * (1 - p)
        if seen is not None:
            p, rise = p * seen, rise * seen
        excess = p.sum(axis=1) + ridge * (effects - centre) - totals
        low, high = np.where(excess < 0, effects, low), np.where(excess > 0, effects, high)
        step = excess / (rise.sum(axis=1) + ridge)
        moves = np.abs(step) > 1e-12 * (1 + np.abs(effects))
        if not moves.any():
            break
        trusted = (effects - step > low) & (effects - step < high) & (np.abs(excess) <= last / 2)
        last = np.abs(excess)
        effects = np.where(trusted | ~moves, effects - step, (low + high) / 2)
    return effects


def _grouped(
    blocks: Any,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
    """Rows that share an effect: totals, observed cells, sizes of the groups, and each row's group.

    Without missing cells rows with equal totals are one group; otherwise each row is its own.
    """
    totals = np.concatenate([np.asarray(b.values.sum(axis=1), dtype=float).ravel() for b in blocks])
    if all(block.missing is None for block in blocks):
        distinct, back, members = np.unique(totals, return_inverse=True, return_counts=True)
        return distinct, None, members.astype(float), back
    seen = np.concatenate([_observed(block) for block in blocks])
    return totals, seen, np.ones(len(totals)), np.arange(len(totals))


def _observed(block: Block) -> np.ndarray:
    if block.missing is None:
        return np.ones(block.shape, dtype=np.float32)
    return 1 - as_dense(block.missing).astype(np.float32)


def _group_counts(seen: np.ndarray | None, members: np.ndarray) -> np.ndarray:
    """For each column, the number of observed rows in each group."""
    return members[None, :] if seen is None else seen.T


def _log_sum(a: np.ndarray, b: np.ndarray, seen: np.ndarray | None, members: np.ndarray) -> float:
    each = np.logaddexp(0, a[:, None] + b)
    return float(members @ (each if seen is None else each * seen).sum(axis=1))
