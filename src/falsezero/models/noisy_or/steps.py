"""Variational EM for the noisy-or model, with two kinds of posterior over a row's sources.

T. Šingliar and M. Hauskrecht, "Noisy-or component analysis and its application to link analysis",
Journal of Machine Learning Research 7 (2006). Equation numbers are that paper's.

The M-step needs no root finder. A noisy-or is a Poisson race, x = 1 when any of the counts
n_0 ~ Poisson(leak), n_k ~ Poisson(s_k theta_k) is above zero. With these counts as hidden variables
the expected log likelihood is a sum of m log(theta) - b theta, whose maximum is m / b; a fixed
point is a root of Fig. 2's derivatives, and no step can lower the bound.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.kernels.noisy_or import factorised_pass, truncated_pass

_NEARER = 0.3
"""A stride may bring theta this much nearer to zero than plain steps did, not further: no later
step could bring it back."""

_CLIMB = 12
"""States whose neighbours are tried when a row is met for the first time."""

_ROOTS = 2
"""The same at every later visit."""

_ROUNDS = 3
"""Updates of the paper's q in one E-step."""


class Sources(NamedTuple):
    """The shared state: theta = -log(1 - p) of the loadings and the leak, log prior odds."""

    theta: np.ndarray
    leak: np.ndarray
    odds: np.ndarray
    hold: int
    """For how many more iterations the leak stays as it is."""


Start = Callable[[int, Blocks, np.random.Generator], Sources]
"""A search for so many sources that a fit may begin with."""


class RowStates(NamedTuple):
    """Truncated posterior of a block's rows: on/off codes (rows, places, sources), how many."""

    states: np.ndarray
    counts: np.ndarray
    posterior: np.ndarray
    bound: np.ndarray
    turn: int


class RowShares(NamedTuple):
    """Factorised posterior of a block's rows: shares (ones, sources) are the paper's q_j(i)."""

    shares: np.ndarray
    posterior: np.ndarray
    bound: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks: expected hidden counts over theta, rows with each source on."""

    ones: np.ndarray
    leak_ones: np.ndarray
    on: np.ndarray
    unseen: np.ndarray | None
    """Rows with a source on whose cell was not observed (sources, columns)."""
    bound: float


class NoisyOrSteps:
    """What both posteriors share: the box of the parameters, the M-step and the bound.

    Rates stay in a box that a table of n rows cannot speak against: no leak is below half a one in
    n rows and no probability above one less half a zero. It keeps the log likelihood of rows never
    seen finite.
    """

    state_params = {"theta": 0, "leak": None, "odds": None}
    local_params: dict[str, int | None] = {}

    def __init__(self, n_components: int, blocks: Blocks, start: Start | None = None):
        self.n_components = n_components
        self.start = start
        n_rows = blocks.shape[0]
        self.least, self.most = 0.5 / (n_rows + 1), float(np.log(2.0 * (n_rows + 1)))
        self.observed = blocks.column_counts[1]
        self.n_rows = n_rows
        self.has_missing = any(block.missing is not None for block in blocks)

    @abstractmethod
    def start_rows(self, blocks: Blocks, state: Sources) -> list[Any]:
        """Row quantities that know nothing of their rows yet."""

    @abstractmethod
    def local_step(
        self, block: Block, local: Any, state: Sources, rng: Any
    ) -> tuple[Any, _Statistics]:
        """The posterior of the rows of a block, and what the M-step needs of it."""

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Sources, list[Any]]:
        """Sources from the search that was handed in, rows that know nothing yet."""
        assert self.start is not None
        state = self.boxed(self.start(self.n_components, blocks, rng))
        return state, self.start_rows(blocks, state)

    def global_step(self, stats: _Statistics, state: Sources, rng: Any) -> Sources:
        """Expected hidden counts over exposure; the same roots as Fig. 2's."""
        exposure = stats.on[:, None] if stats.unseen is None else stats.on[:, None] - stats.unseen
        theta = state.theta * stats.ones / np.maximum(exposure, 1e-10)
        leak = state.leak
        if not state.hold:
            leak = np.where(self.observed > 0, leak * stats.leak_ones, leak)
            leak = leak / np.maximum(self.observed, 1.0)
        share = np.clip(stats.on / self.n_rows, self.least, 1 - self.least)
        odds = np.log(share) - np.log1p(-share)
        return self.boxed(Sources(theta, leak, odds, max(state.hold - 1, 0)))

    def objective(self, stats: _Statistics, state: Sources) -> float:
        """The lower bound on the log likelihood."""
        return stats.bound

    def project(self, trial: Point, reference: Point) -> Point:
        """Rates into their box, not much nearer to zero than plain steps went."""
        state, near = trial.state, reference.state
        theta = np.maximum(state.theta, _NEARER * near.theta)
        leak = np.maximum(state.leak, _NEARER * near.leak)
        return Point(self.boxed(state._replace(theta=theta, leak=leak)), trial.local)

    def boxed(self, state: Sources) -> Sources:
        """The state with every rate and prior inside the box."""
        edge = np.log(1 / self.least - 1)
        return state._replace(
            theta=np.clip(state.theta, 1e-12, self.most),
            leak=np.clip(state.leak, self.least, self.most),
            odds=np.clip(state.odds, -edge, edge),
        )

    def _statistics(
        self, block: Block, state: Sources, found: tuple[np.ndarray, ...]
    ) -> tuple[_Statistics, np.ndarray]:
        """Statistics of a block, and the bound of each of its rows, from a kernel's pass."""
        posterior, ones, leak_ones, bound = found
        bound = bound - np.logaddexp(0, state.odds).sum() - state.leak.sum()
        bound += np.asarray(block.csr @ state.leak).ravel()
        unseen = None
        if block.missing_csr is not None:
            missing = block.missing_csr.astype(float)
            bound += np.asarray(missing @ state.leak).ravel()
            unseen = np.asarray(missing.T @ posterior).T
        elif self.has_missing:
            unseen = np.zeros_like(state.theta)
        on = posterior.sum(axis=0)
        return _Statistics(ones, leak_ones, on, unseen, float(bound.sum())), bound

    @staticmethod
    def _odds(block: Block, state: Sources) -> np.ndarray:
        """Log odds of each source in each row if all observed cells were zero."""
        odds = np.tile(state.odds - state.theta.sum(axis=1), (block.shape[0], 1))
        if block.missing_csr is not None:
            odds += np.asarray(block.missing_csr.astype(float) @ state.theta.T)
        return odds


class TruncatedSteps(NoisyOrSteps):
    """EM with the exact posterior restricted to each row's most probable on/off codes.

    The bound is log sum_{s in S_n} p(x_n, s): the paper's first bound (section 3.2) with the best Q
    that lives on S_n. A code enters S_n only in place of a less probable one, so the bound cannot
    fall, and it is the exact log likelihood once S_n holds all codes.
    """

    def __init__(
        self, n_components: int, blocks: Blocks, start: Start | None = None, n_states: int = 8
    ):
        super().__init__(n_components, blocks, start)
        self.n_states = n_states

    def start_rows(self, blocks: Blocks, state: Sources) -> list[RowStates]:
        """The code with every source off, as the only one."""
        n_sources = len(state.theta)
        places = min(self.n_states, 2 ** min(n_sources, 30))
        return [
            RowStates(
                np.zeros((b.shape[0], places, n_sources), np.uint8),
                np.ones(b.shape[0], np.int64),
                np.tile(expit(state.odds), (b.shape[0], 1)),
                np.zeros(b.shape[0]),
                0,
            )
            for b in blocks
        ]

    def local_step(
        self, block: Block, local: RowStates, state: Sources, rng: Any
    ) -> tuple[RowStates, _Statistics]:
        """Weigh the codes that each row has, and look for better ones among their neighbours."""
        states, counts = local.states.copy(), local.counts.copy()
        roots = _ROOTS if local.turn else _CLIMB
        csr, odds = block.csr, self._odds(block, state)
        found = truncated_pass(
            csr.indptr,
            csr.indices,
            state.theta,
            state.leak,
            odds,
            states,
            counts,
            local.turn,
            roots,
        )
        stats, bound = self._statistics(block, state, found)
        return RowStates(
            states, counts, found[0].astype(block.values.dtype), bound, local.turn + 1
        ), stats


class FactorisedSteps(NoisyOrSteps):
    """The paper's own EM: sources independent a posteriori, ones bounded by eq. 6 (Fig. 2)."""

    def start_rows(self, blocks: Blocks, state: Sources) -> list[RowShares]:
        """Each one shared among the sources in proportion to their loadings."""
        share = state.theta.T / state.theta.sum(axis=0)[:, None]
        return [
            RowShares(
                share[b.csr.indices],
                np.tile(expit(state.odds), (b.shape[0], 1)),
                np.zeros(b.shape[0]),
            )
            for b in blocks
        ]

    def local_step(
        self, block: Block, local: RowShares, state: Sources, rng: Any
    ) -> tuple[RowShares, _Statistics]:
        """Fig. 2's updates of q, each followed by the posterior of eq. 5."""
        shares = local.shares.copy()
        csr, odds = block.csr, self._odds(block, state)
        found = factorised_pass(
            csr.indptr, csr.indices, state.theta, state.leak, odds, shares, _ROUNDS
        )
        stats, bound = self._statistics(block, state, found)
        return RowShares(shares, found[0].astype(block.values.dtype), bound), stats
