"""Repeated looks as the engine sees them: row blocks, each cell with a pattern of looks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Blocks
from falsezero.data.looks import Looks

__all__ = ["LookBlock", "LookBlocks", "Patterns"]

_BLOCK_LOOKS = 131072
_MANY_PATTERNS = 512


class Patterns(NamedTuple):
    """Looks that cells may have had: ones and tries, patterns x looks x columns (or x 1).

    `design` holds the variables of each look, patterns x looks x terms, the first of them 1;
    `observers` says who made it, patterns x looks, -1 for nobody in particular.
    """

    ones: np.ndarray
    tries: np.ndarray
    design: np.ndarray
    observers: np.ndarray


@dataclass(frozen=True)
class LookBlock:
    """Some consecutive rows. `codes` has each cell's pattern, or one column where rows differ."""

    start: int
    codes: np.ndarray
    patterns: Patterns
    n_columns: int
    variables: np.ndarray | None = None
    """What is known of the rows, rows x terms, the first of them 1."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the block."""
        return len(self.codes), self.n_columns

    @property
    def rows(self) -> slice:
        """Where the block's rows lie among all rows."""
        return slice(self.start, self.start + len(self.codes))

    @property
    def arrays(self) -> list[np.ndarray]:
        """All that the block holds, as plain arrays."""
        known = [] if self.variables is None else [self.variables]
        return [self.codes, *self.patterns, *known]

    def cells(self, by_pattern: np.ndarray) -> np.ndarray:
        """Something known of each pattern and column, for every cell."""
        if self.codes.shape[1] == 1 and self.n_columns > 1:
            return np.asarray(by_pattern[self.codes[:, 0]])
        wide = np.broadcast_to(
            by_pattern, (by_pattern.shape[0], self.n_columns, *by_pattern.shape[2:])
        )
        return np.asarray(wide[self.codes, np.arange(self.n_columns)])

    @cached_property
    def is_observed(self) -> np.ndarray:
        """Whether anybody looked, for every cell."""
        return self.cells(self.patterns.tries.sum(axis=1) > 0)

    @property
    def is_seen(self) -> np.ndarray:
        """Whether any look recorded a one, for every cell."""
        return self.cells(self.patterns.ones.sum(axis=1) > 0)

    @cached_property
    def observed(self) -> np.ndarray:
        """How many cells of each row were looked at."""
        return np.asarray(self.is_observed.sum(axis=1), dtype=float)

    @property
    def missing(self) -> np.ndarray | None:
        """Where nobody looked, or None when every cell was looked at."""
        return None if self.observed.min() == self.n_columns else ~self.is_observed


class LookBlocks(Blocks):
    """Looks cut into row blocks whose size depends on their shape alone."""

    @classmethod
    def of(
        cls,
        looks: Looks,
        design: np.ndarray | None = None,
        observers: np.ndarray | None = None,
        *,
        variables: np.ndarray | None = None,
        rows_differ: bool = False,
        dtype: Any = float,
    ) -> LookBlocks:
        """Cut looks; where nothing but their number matters, cells share their patterns."""
        blocks = None
        if design is None and observers is None and not rows_differ:
            blocks = _shared(looks)
        if blocks is None:
            blocks = _one_by_one(looks, design, observers)
        if variables is not None:
            blocks = [replace(block, variables=variables[block.rows]) for block in blocks]
        return cls(blocks, np.dtype(dtype))

    @property
    def has_variables(self) -> bool:
        """Whether something is known of the rows."""
        first: Any = self[0]
        return first.variables is not None

    @staticmethod
    def _dense(block: Any, some: np.ndarray) -> np.ndarray:
        """Some rows of a block: 1 where anything was seen, NaN where nobody looked."""
        return np.asarray(np.where(block.is_observed, block.is_seen, np.nan)[some])

    @cached_property
    def column_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells seen at least once, and cells looked at, per column."""
        blocks: Any = self
        seen = sum(block.is_seen.sum(axis=0, dtype=float) for block in blocks)
        observed = sum(block.is_observed.sum(axis=0, dtype=float) for block in blocks)
        return seen, observed


def _one_by_one(looks: Looks, design: np.ndarray | None, observers: np.ndarray | None) -> list[Any]:
    """Blocks of rows that each have patterns of their own."""
    if design is None and observers is None:
        looks = looks.pooled()
    n_rows, n_looks, n_columns = looks.shape
    if design is None:
        design = np.ones((n_rows, n_looks, 1))
    if observers is None:
        observers = np.full((n_rows, n_looks), -1)
    numbers = looks.took_place.sum(axis=1)
    # Looks that took place come first, so that a row costs what its own looks cost.
    order = np.argsort(~looks.took_place, axis=1, kind="stable")
    size = max(1, _BLOCK_LOOKS // (max(1, int(numbers.max())) * n_columns))
    blocks = []
    for start in range(0, n_rows, size):
        here = slice(start, start + size)
        first = order[here, : max(1, int(numbers[here].max()))]
        patterns = Patterns(
            *looks.store.gather(here, first),
            np.take_along_axis(design[here], first[..., None], axis=1),
            np.take_along_axis(observers[here], first, axis=1),
        )
        blocks.append(LookBlock(start, np.arange(len(first))[:, None], patterns, n_columns))
    return blocks


def _shared(looks: Looks) -> list[Any] | None:
    """Blocks of cells that know only "x of n"; None where there are too many such pairs."""
    ones, tries = looks.counts
    pairs = tries.astype(np.int64) * (int(tries.max()) + 1) + ones
    known = np.unique(pairs)
    if len(known) > _MANY_PATTERNS:
        return None
    kind = np.uint8 if len(known) <= 256 else np.uint16
    codes = np.searchsorted(known, pairs).astype(kind)
    n, x = np.divmod(known, int(tries.max()) + 1)
    cells = x[:, None, None].astype(float), n[:, None, None].astype(float)
    design, nobody = np.ones((len(known), 1, 1)), np.full((len(known), 1), -1)
    patterns = Patterns(*cells, design, nobody)
    n_rows, n_columns = codes.shape
    size = max(1, 8 * _BLOCK_LOOKS // n_columns)
    return [
        LookBlock(start, codes[start : start + size], patterns, n_columns)
        for start in range(0, n_rows, size)
    ]
