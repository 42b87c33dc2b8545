"""Models that are fitted by raising an objective: EM, variational Bayes, gradient steps."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from os import PathLike
from typing import Any

import joblib
import numpy as np

from falsezero.backends import shared_workers, workers
from falsezero.base._sklearn import Interval, StrOptions, fit_context
from falsezero.base.factor_model import FactorModel, checked_keep, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.data.row_files import opened
from falsezero.inference.checkpoint import Checkpoint, fingerprint_of, remove_checkpoint
from falsezero.inference.contract import Fit, Point, Steps
from falsezero.inference.engine import end_with_rows, optimise, settle_rows
from falsezero.inference.progress import progress, stages

__all__ = ["Interval", "OptimisedModel", "StrOptions", "checked_keep", "spawn_seeds"]

_ROW_TOL = 1e-9
_MANY_ROWS, _SETTLING = 50_000, 2e7
"""Rows up to which a fit always ends by settling each of them, and rows times squared components up
to which it does with more rows; beyond, weights are those of the last iteration, because settling
would cost more than all iterations did."""

_ROW_ITER = 1000


class OptimisedModel(FactorModel):
    """A factor model that the engine fits by raising an objective.

    A model supplies its constructor (with the parameters that are checked below), its
    `capabilities` and four small methods: `_steps` (its mathematics, for the engine), `_start_rows`
    (initial row quantities), `_adopt` (store what was learnt) and `_weights` (what `transform`
    returns).
    """

    _row_tol = _ROW_TOL
    _rows_may_stay = False
    """Whether `_adopt` can leave row weights in files, for tables that keep them there."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "acceleration": [StrOptions({"squarem"}), None],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
        "callback": [callable, None],
        "checkpoint": [str, PathLike, None],
    }

    # -- what a model supplies ------------------------------------------------------------------

    @abstractmethod
    def _steps(self, blocks: Blocks) -> Steps:
        """The model's update steps for this table."""

    @abstractmethod
    def _start_rows(self, blocks: Blocks) -> Point:
        """The learnt state with initial row quantities."""

    def _fresh_rows(self, blocks: Blocks) -> list[Any] | None:
        """Initial row quantities, for steps that can `settle` a block.

        None for models that do not settle rows once more at the end of a fit.
        """
        return None

    @abstractmethod
    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        """Store what was learnt in attributes with a trailing underscore."""

    @abstractmethod
    def _weights(self, local: Any) -> np.ndarray:
        """Row weights of one block, rows x components."""

    # -- fitting --------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the components from a table.

        Parameters
        ----------
        X : Table, array, sparse array, data frame or Shards of shape (n_rows, n_columns)
            NaN marks an unobserved cell; an implicit zero of a sparse table is an observed zero.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        blocks = self._blocks(X, reset=True)
        with shared_workers(self.n_jobs, len(blocks)):
            fit = self._optimise(blocks)
            if not self._rows_may_stay:
                fit = fit._replace(local=[opened(part) for part in fit.local])
                blocks.row_files = None
            fit = self._with_settled_rows(fit, blocks)
            self._adopt(fit, blocks)
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.objective_ = fit.objective
        if self.checkpoint is not None:
            remove_checkpoint(self.checkpoint)
        return self

    def _optimise(self, blocks: Blocks) -> Fit:
        seeds = spawn_seeds(self.random_state, self.n_init)
        checkpoint = self._checkpoint(blocks)
        listeners = () if self.callback is None else (self.callback,)
        with (
            workers(self.n_jobs, len(blocks)) as run,
            progress(self, self.verbose) as show,
        ):
            return optimise(
                self._steps(blocks),
                blocks,
                seeds,
                run,
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.acceleration is not None,
                listeners=(*show, *listeners),
                checkpoint=checkpoint,
            )

    def _with_settled_rows(self, fit: Fit, blocks: Blocks) -> Fit:
        """The fit with row weights as `transform` would return them, unless rows are very many."""
        n_rows = blocks.shape[0]
        is_small = n_rows <= _MANY_ROWS or n_rows * self.n_components**2 <= _SETTLING
        is_small &= blocks.row_files is None
        rows = self._fresh_rows(blocks) if is_small else None
        if rows is None:
            return fit
        with (
            workers(self.n_jobs, len(blocks)) as run,
            stages(type(self).__name__, self.verbose, 1) as begin,
        ):
            begin("settling the rows")
            return end_with_rows(self._steps(blocks), blocks, fit, rows, run)

    def _checkpoint(self, blocks: Blocks) -> Checkpoint | None:
        path = self.checkpoint
        if path is None:
            return None
        cells = [joblib.hash(block.arrays) for block in blocks]
        return Checkpoint(path, fingerprint_of(self, blocks.shape, cells))

    def _settle(self, blocks: Blocks) -> np.ndarray:
        weights = np.concatenate([self._weights(part) for part in self._settled(blocks)])
        return weights.astype(blocks.dtype, copy=False)

    def _settled(self, blocks: Blocks) -> list[Any]:
        """Row quantities of each block, given the learnt state."""
        point = self._start_rows(blocks)
        with workers(self.n_jobs, len(blocks)) as run:
            return settle_rows(
                self._steps(blocks), blocks, point, run, max_iter=_ROW_ITER, tol=self._row_tol
            )
