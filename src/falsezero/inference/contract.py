"""The interface between models and the engine: protocols, and the records that loops pass on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from falsezero.data.blocks import Block, Blocks

Run = Callable[..., list[Any]]
"""A `map_blocks` of some backend."""


class Point(NamedTuple):
    """The current values of a fit: the shared state, and the row quantities of each block."""

    state: Any
    local: list[Any]


class Steps(Protocol):
    """What a model supplies for one way of fitting it. State, local and stats are NamedTuples.

    ``state_params`` and ``local_params`` name the fields that an accelerator may extrapolate, each
    with the axis along which it shares one stride (1: every row has its own, None: one for all).
    """

    @property
    def state_params(self) -> Mapping[str, int | None]:
        """Fields of the state."""

    @property
    def local_params(self) -> Mapping[str, int | None]:
        """Fields of a local."""

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Starting point: the state shared by all rows, and one local per block."""

    def local_step(self, block: Block, local: Any, state: Any, rng: Any) -> tuple[Any, Any]:
        """E-step, q(z) or a draw of z for one block: new local, additive statistics."""

    def global_step(self, stats: Any, state: Any, rng: Any) -> Any:
        """M-step, q(theta) or a draw of theta from the statistics of all blocks."""

    def objective(self, stats: Any, state: Any) -> float:
        """The quantity that must not fall, at the point where the statistics were computed."""

    def project(self, trial: Point, reference: Point) -> Point:
        """Move an extrapolated point back into the domain, towards a reference inside it."""


@runtime_checkable
class SettlingSteps(Protocol):
    """Steps that can optimise each row of a block independently of the others."""

    def settle(self, block: Block, local: Any, state: Any) -> Any:
        """The local of a block after all its rows have settled."""


@runtime_checkable
class BlockwiseStart(Protocol):
    """Steps that can start one block at a time, for rows that are kept in files."""

    def init_state(self, blocks: Blocks, rng: np.random.Generator) -> Any:
        """The initial state, shared by all rows."""

    def init_rows(self, block: Block, rng: np.random.Generator) -> Any:
        """The initial local of one block."""


@runtime_checkable
class RebasedStatistics(Protocol):
    """Statistics of a solver that approximates its objective and renews the approximation.

    `rebased` counts the blocks that renewed it in this step. Objectives before and after such a
    step must not be compared, and the monitor and the accelerator do not. Statistics without this
    field belong to an objective that never changes.
    """

    rebased: int


class Iteration(NamedTuple):
    """One iteration: the objective at its start, and the point at its end."""

    point: Point
    objective: float
    what: str
    restartable: bool = True
    """Whether a fit resumed from `point` would take the same path (not inside a cycle)."""
    rebased: bool = False
    """Whether the objective was redefined here, and must not be compared with earlier values."""
    stride: float = 1.0
    """The longest stride that the accelerator will try next."""


class Fit(NamedTuple):
    """The outcome of an optimisation."""

    state: Any
    local: list[Any]
    objective: float
    history: list[dict[str, Any]]
    converged: bool
    n_iter: int


Advance = Callable[[Point], tuple[Point, float, bool]]
