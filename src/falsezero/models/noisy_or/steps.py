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

_RESTART = 5
"""E-steps between two restarts of the factorised posterior from the row's most probable codes."""

_SETTLE = 20
"""Updates of q that a restart gets before it is compared with where the row was."""

_CODES = 4
"""Codes kept for a row to restart from."""

_TRACE = 1e-6
"""Share that a source keeps which none of the codes has: updates of q multiply, so none is zero."""


class NoisyOrState(NamedTuple):
    """The shared state: theta = -log(1 - p) of the loadings and the leak, log prior odds."""

    theta: np.ndarray
    leak: np.ndarray
    odds: np.ndarray
    hold: int
    """For how many more iterations the leak stays as it is."""


Start = Callable[[int, Blocks, np.random.Generator], NoisyOrState]
"""A search for so many sources that a fit may begin with."""


class RowStates(NamedTuple):
    """Truncated posterior of a block's rows: on/off codes (rows, slots, sources), their number."""

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
    codes: RowStates | None
    """The most probable codes found so far, from which shares are restarted; None for no search."""
    turn: int


class _Statistics(NamedTuple):
    """Additive over blocks: expected hidden counts over theta, rows with each source on."""

    ones: np.ndarray
    leak_ones: np.ndarray
    on: np.ndarray
    unseen: np.ndarray | None
    """Rows with a source on whose cell was not observed (sources, columns)."""
    bound: float


class NoisyOrSteps:
    """Base of both posteriors: the box of the parameters, the M-step and the bound.

    Rates stay in a box that a table of n rows cannot contradict: no leak is below half a one in n
    rows, and no probability above 1 minus that. It keeps the log likelihood of new rows finite.
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
    def start_rows(self, blocks: Blocks, state: NoisyOrState) -> list[Any]:
        """Initial row quantities."""

    @abstractmethod
    def local_step(
        self, block: Block, local: Any, state: NoisyOrState, rng: Any
    ) -> tuple[Any, _Statistics]:
        """The posterior of a block's rows, and its statistics for the M-step."""

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[NoisyOrState, list[Any]]:
        """Sources from the given search, and initial row quantities."""
        assert self.start is not None
        state = self.boxed(self.start(self.n_components, blocks, rng))
        return state, self.start_rows(blocks, state)

    def global_step(self, stats: _Statistics, state: NoisyOrState, rng: Any) -> NoisyOrState:
        """Expected hidden counts over exposure; the same roots as Fig. 2's."""
        exposure = stats.on[:, None] if stats.unseen is None else stats.on[:, None] - stats.unseen
        theta = state.theta * stats.ones / np.maximum(exposure, 1e-10)
        leak = state.leak
        if not state.hold:
            leak = np.where(self.observed > 0, leak * stats.leak_ones, leak)
            leak = leak / np.maximum(self.observed, 1.0)
        share = np.clip(stats.on / self.n_rows, self.least, 1 - self.least)
        odds = np.log(share) - np.log1p(-share)
        return self.boxed(NoisyOrState(theta, leak, odds, max(state.hold - 1, 0)))

    def objective(self, stats: _Statistics, state: NoisyOrState) -> float:
        """The lower bound on the log likelihood."""
        return stats.bound

    def project(self, trial: Point, reference: Point) -> Point:
        """Rates into their box, and not much nearer to zero than the plain steps were."""
        state, near = trial.state, reference.state
        theta = np.maximum(state.theta, _NEARER * near.theta)
        leak = np.maximum(state.leak, _NEARER * near.leak)
        return Point(self.boxed(state._replace(theta=theta, leak=leak)), trial.local)

    def boxed(self, state: NoisyOrState) -> NoisyOrState:
        """The state with every rate and prior inside the box."""
        edge = np.log(1 / self.least - 1)
        return state._replace(
            theta=np.clip(state.theta, 1e-12, self.most),
            leak=np.clip(state.leak, self.least, self.most),
            odds=np.clip(state.odds, -edge, edge),
        )

    def _statistics(
        self, block: Block, state: NoisyOrState, found: tuple[np.ndarray, ...]
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
    def _odds(block: Block, state: NoisyOrState) -> np.ndarray:
        """Log odds of each source in each row if all observed cells were zero."""
        odds = np.tile(state.odds - state.theta.sum(axis=1), (block.shape[0], 1))
        if block.missing_csr is not None:
            odds += np.asarray(block.missing_csr.astype(float) @ state.theta.T)
        return odds


class TruncatedSteps(NoisyOrSteps):
    """EM with the exact posterior restricted to each row's most probable on/off codes.

    The bound is log sum_{s in S_n} p(x_n, s): the paper's first bound (section 3.2) with the best Q
    on S_n. A code enters S_n only in place of a less probable one, so the bound cannot
    fall, and it is the exact log likelihood once S_n holds all codes.
    """

    def __init__(
        self, n_components: int, blocks: Blocks, start: Start | None = None, n_states: int = 8
    ):
        super().__init__(n_components, blocks, start)
        self.n_states = n_states

    def start_rows(self, blocks: Blocks, state: NoisyOrState) -> list[RowStates]:
        """All codes where they fit, else the one with every source off."""
        n_sources = len(state.theta)
        places = min(self.n_states, 2 ** min(n_sources, 30))
        first = np.zeros((places, n_sources), np.uint8)
        n_first = 1
        if places == 2**n_sources:
            first[:] = (np.arange(places)[:, None] >> np.arange(n_sources)) & 1
            n_first = places
        return [
            RowStates(
                np.tile(first, (b.shape[0], 1, 1)),
                np.full(b.shape[0], n_first, np.int64),
                np.tile(expit(state.odds), (b.shape[0], 1)),
                np.zeros(b.shape[0]),
                0,
            )
            for b in blocks
        ]

    def local_step(
        self, block: Block, local: RowStates, state: NoisyOrState, rng: Any
    ) -> tuple[RowStates, _Statistics]:
        """Weight the codes of each row, and look for better ones among their neighbours."""
        states, counts = local.states.copy(), local.counts.copy()
        roots = _ROOTS if local.turn else _CLIMB
        if states.shape[1] == 2 ** states.shape[2]:
            roots = 0
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
    """The paper's own EM: sources independent a posteriori, ones bounded by eq. 6 (Fig. 2).

    The bound has many local optima in q, and shares in proportion to the loadings lead to poor
    ones. With `restarts`, every few E-steps each row is also restarted from its most probable
    codes, and keeps whichever of the two bounds is higher. Without, q moves as in Fig. 2 alone.
    """

    def __init__(
        self,
        n_components: int,
        blocks: Blocks,
        start: Start | None = None,
        restarts: bool = True,
    ):
        super().__init__(n_components, blocks, start)
        self.search = TruncatedSteps(n_components, blocks, n_states=_CODES) if restarts else None

    def start_rows(self, blocks: Blocks, state: NoisyOrState) -> list[RowShares]:
        """Each one shared among the sources in proportion to their loadings."""
        share = state.theta.T / state.theta.sum(axis=0)[:, None]
        codes = self.search.start_rows(blocks, state) if self.search else [None] * len(blocks)
        return [
            RowShares(
                share[b.csr.indices],
                np.tile(expit(state.odds), (b.shape[0], 1)),
                np.zeros(b.shape[0]),
                own,
                0,
            )
            for b, own in zip(blocks, codes, strict=True)
        ]

    def local_step(
        self, block: Block, local: RowShares, state: NoisyOrState, rng: Any
    ) -> tuple[RowShares, _Statistics]:
        """Fig. 2's updates of q, each followed by the posterior of eq. 5."""
        shares, codes = local.shares.copy(), local.codes
        found = self._pass(block, state, shares, _ROUNDS)
        if self.search is not None and codes is not None and local.turn % _RESTART == 0:
            codes, _ = self.search.local_step(block, codes, state, rng)
            again = self._shares_of(block, codes.posterior, state)
            better = self._pass(block, state, again, _SETTLE)[3] > found[3]
            each = np.repeat(better, np.diff(block.csr.indptr))
            shares[each] = again[each]
            found = self._pass(block, state, shares, 0)
        stats, bound = self._statistics(block, state, found)
        posterior = found[0].astype(block.values.dtype)
        return RowShares(shares, posterior, bound, codes, local.turn + 1), stats

    def _pass(
        self, block: Block, state: NoisyOrState, shares: np.ndarray, rounds: int
    ) -> tuple[np.ndarray, ...]:
        csr, odds = block.csr, self._odds(block, state)
        return factorised_pass(
            csr.indptr, csr.indices, state.theta, state.leak, odds, shares, rounds
        )

    @staticmethod
    def _shares_of(block: Block, posterior: np.ndarray, state: NoisyOrState) -> np.ndarray:
        """Each one shared in proportion to loading times the probability that a source is on."""
        csr = block.csr
        rows = np.repeat(np.arange(block.shape[0]), np.diff(csr.indptr))
        shares = (posterior[rows] + _TRACE) * state.theta.T[csr.indices]
        return shares / shares.sum(axis=1, keepdims=True)
