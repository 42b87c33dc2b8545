"""Learning from batches of rows: online EM and stochastic variational inference.

Given the rows of a batch at their best weights (or posterior) under the components so far, each
component is responsible for an expected number of ones and zeros in each column, a row on average.
These averages move towards the batch's own by a stride (1 + t)^-DECAY at batch t, and the
components are made from them as in a step over the whole table. That is online EM for maximum
likelihood (O. Cappé and E. Moulines, JRSS B 71, 2009) and stochastic variational inference for
binary ICA (M. Hoffman et al., JMLR 14, 2013). Only the averages stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from falsezero.backends import workers
from falsezero.base.factor_model import spawn_seeds
from falsezero.data.blocks import Block, Blocks
from falsezero.data.shards import Shards
from falsezero.inference.accelerate import squarem
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer, settle_rows

DECAY = 0.7
_FIRST_STEPS = 60


class CountedBySteps:
    """Steps whose statistics give the expected counts of a batch."""

    def batch_counts(self: Any, block: Block, local: Any, state: Any) -> np.ndarray:
        """Ones and zeros that each component is responsible for in each column."""
        _, stats = self.local_step(block, local, state, None)
        return np.stack(self.expected_counts(stats, state))


class BatchLearning:
    """`partial_fit` and `fit_batches` of the convex Bernoulli family.

    A model supplies `_adopt_state`, and steps with `batch_counts(block, local, state)` and
    `state_of(ones, zeros)`.
    """

    def partial_fit(self: Any, X: Any, y: Any = None, *, total_rows: int | None = None) -> Any:
        """Learn from one batch of rows, which need not be kept.

        Parameters
        ----------
        X : Table, array, sparse array or data frame
            Some rows, a few thousand or more. All batches need the same columns.
        y : ignored
        total_rows : int, optional
            Rows of the whole table, relative to which priors count; by default the rows so far.

        Returns
        -------
        self
            With `components_`, and in `row_weights_` the weights of this batch's rows. There is no
            likelihood of the whole table.

        Examples
        --------
        >>> import falsezero as fz
        >>> table = fz.datasets.make_aspect_bernoulli(600, 30, 3, random_state=0).table
        >>> model = fz.AspectBernoulli(3, random_state=0)
        >>> for start in range(0, 600, 200):
        ...     model = model.partial_fit(table.select(rows=slice(start, start + 200)))
        >>> model.n_batches_, model.components_.shape
        (3, (3, 30))
        """
        is_first = not hasattr(self, "n_batches_")
        if is_first:
            self._validate_params()
        blocks = self._blocks(X, reset=is_first)
        if is_first:
            self._begin(blocks)
        self.n_rows_seen_ += blocks.shape[0]
        total = self.n_rows_seen_ if total_rows is None else total_rows
        steps = self._steps(blocks)
        state = self._batch_state(steps, total)
        with workers(self.n_jobs, len(blocks)) as run:
            start = Point(state, self._fresh_rows(blocks))
            local = settle_rows(steps, blocks, start, run, max_iter=100, tol=1e-6)
            counts = run(lambda b, part: steps.batch_counts(b, part, state), blocks, local)
        stride = (1.0 + self.n_batches_) ** -DECAY
        share = stride / blocks.shape[0]
        self.batch_counts_ = (1 - stride) * self.batch_counts_ + share * sum(counts)
        self.n_batches_ += 1
        self.row_weights_ = np.concatenate([self._weights(part) for part in local])
        self._adopt_state(self._batch_state(steps, total))
        return self

    def fit_batches(self: Any, batches: Iterable[Any] | Shards, *, n_passes: int = 1) -> Any:
        """Learn from a table in parts that need not be in memory together.

        Parameters
        ----------
        batches : iterable of tables, or Shards
            What `partial_fit` takes, a batch at a time: a list, a generator, the record batches of
            an Arrow dataset as data frames, `Shards` (one batch per file). For more than one pass
            it must be possible to iterate over it again.
        n_passes : int, default=1
            How often to go through all batches.

        Examples
        --------
        >>> import falsezero as fz
        >>> table = fz.datasets.make_aspect_bernoulli(600, 30, 3, random_state=0).table
        >>> parts = [table.select(rows=slice(i, i + 150)) for i in range(0, 600, 150)]
        >>> fz.AspectBernoulli(3, random_state=0).fit_batches(parts, n_passes=2).n_batches_
        8
        """
        if n_passes > 1 and isinstance(batches, Iterator):
            raise ValueError(
                f"n_passes={n_passes} needs batches that can be iterated again, such as a "
                "list; a generator gives each batch once."
            )
        self.__dict__.pop("n_batches_", None)
        total = None
        for _ in range(n_passes):
            for batch in _each(batches):
                self.partial_fit(batch, total_rows=total)
            if total is None and hasattr(self, "n_batches_"):
                total = self.n_rows_seen_
        if not hasattr(self, "n_batches_"):
            raise ValueError("batches= holds no batch; give at least one table of rows.")
        return self

    def _begin(self: Any, blocks: Blocks) -> None:
        """Average counts after some steps over the first batch, in which components separate."""
        self._choose_solver(blocks)
        steps = self._steps(blocks)
        (seed,) = spawn_seeds(self.random_state, 1)
        point = Point(*steps.init(blocks, np.random.default_rng(seed)))
        with workers(self.n_jobs, len(blocks)) as run:
            advance = advancer(steps, blocks, run)
            for iteration in islice(squarem(steps, advance, point), _FIRST_STEPS):
                point = iteration.point
            counts = run(
                lambda b, part: steps.batch_counts(b, part, point.state), blocks, point.local
            )
        self.batch_counts_ = sum(counts) / blocks.shape[0]
        self.n_batches_ = self.n_rows_seen_ = 0

    def _batch_state(self: Any, steps: Any, total: int) -> Any:
        """The state for a table of `total` rows with the average counts so far."""
        return steps.state_of(*(total * self.batch_counts_))


def _each(batches: Any) -> Iterable[Any]:
    """Batches one at a time: the files of `Shards`, or the items of an iterable."""
    return (Shards([file]) for file in batches.files) if isinstance(batches, Shards) else batches
