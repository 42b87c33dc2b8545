"""Aspect Bernoulli with the weights of rows averaged over, under a prior learnt from the table.

A row of few columns says little about its own weights. Fitting them freely, row by row, predicts
hidden cells worse than a plain mixture does. Here a row's weights are drawn from a distribution on
the simplex that all rows share. It is discrete, sits on a lattice of points s_m, and its
proportions pi_m are learnt (the nonparametric maximum likelihood of a mixing distribution, Laird
1978, on a grid):

    p(x_n) = sum_m pi_m prod_t Bernoulli(x_nt; sum_k s_mk a_kt).

With all of pi on the corners this is the mixture of Bernoullis; the other points are what Aspect
Bernoulli adds to it. Row weights are posterior means, sum_m p(m | x_n) s_m, in closed form.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.models.baselines.bernoulli_mixture import BernoulliSteps
from falsezero.models.baselines.mixture import Mixture, MixtureStatistics, by_bayes
from falsezero.models.convex.family import RowWeights, clip_to_reference, uniform_rows

_MOST_POINTS = 40
"""Most points of the lattice; twice as many predict no better."""

_FINEST, _COARSEST = 8, 2
_MOST_CELLS, _MOST_COMPONENTS = 1_000_000, 16
"""Where averaging is affordable: it costs a pass for each point, not for each component."""


def is_worth_averaging(shape: tuple[int, int], n_components: int) -> bool:
    """Whether averaging over row weights costs about as much as fitting them."""
    return shape[0] * shape[1] <= _MOST_CELLS and 1 < n_components <= _MOST_COMPONENTS


def simplex_lattice(n_components: int, parts: int) -> np.ndarray:
    """Points of the simplex whose weights are whole multiples of 1 / parts, corners first.

    >>> simplex_lattice(2, 2)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """
    bars = combinations(range(parts + n_components - 1), n_components - 1)
    ends = np.array([(-1, *bar, parts + n_components - 1) for bar in bars])
    points = (np.diff(ends, axis=1) - 1)[::-1]
    order = np.argsort(-points.max(axis=1), kind="stable")
    return points[order] / parts


def lattice_parts(n_components: int) -> int:
    """The finest lattice with no more than 40 points, but at least the middles of edges.

    >>> [lattice_parts(k) for k in (2, 3, 5, 16)]
    [8, 7, 3, 2]
    """
    fine = range(_FINEST, _COARSEST, -1)
    return next((p for p in fine if comb(p + n_components - 1, p) <= _MOST_POINTS), _COARSEST)


def reordered_shares(points: np.ndarray, shares: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Shares of the points of a lattice after its components were put in another order.

    >>> points = simplex_lattice(2, 2)
    >>> reordered_shares(points, np.array([0.5, 0.2, 0.3]), np.array([1, 0]))
    array([0.2, 0.5, 0.3])
    """
    new = np.empty_like(shares)
    new[np.lexsort(points.T)] = shares[np.lexsort(points[:, order].T)]
    return new


class Averaged(NamedTuple):
    """The shared state: components, and how frequent each point of the lattice is."""

    components: np.ndarray
    proportions: np.ndarray


class AveragedSteps(BernoulliSteps):
    """EM over points and causes: which point a row has, and which component made each cell."""

    state_params = {"components": 0, "proportions": None}

    def __init__(self, n_components: int, blocks: Blocks, prior: float):
        super().__init__(n_components, blocks, prior)
        points = simplex_lattice(n_components, lattice_parts(n_components))
        self.points = points.astype(blocks.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Any, list[RowWeights]]:
        """The start of a mixture: components near the column means, points equally likely."""
        mixture = BernoulliSteps(self.n_components, blocks, self.prior)
        start, _ = mixture.init(blocks, rng)
        share = np.full(len(self.points), 1.0 / len(self.points), blocks.dtype)
        return Averaged(start.components, share), uniform_rows(blocks, self.n_components)

    def profiles(self, state: Averaged) -> Mixture:
        """The mixture whose components are the points' own probabilities of a one."""
        return Mixture(state.proportions, self.clip(self.points @ state.components))

    def posterior(self, block: Block, state: Averaged) -> tuple[np.ndarray, np.ndarray]:
        """p(point | row), rows x points, and the log likelihood of each row."""
        return by_bayes(self.log_joint(block, self.profiles(state)))

    def local_step(
        self, block: Block, local: Any, state: Any, rng: Any
    ) -> tuple[RowWeights, MixtureStatistics]:
        """Posterior means of the weights of a block, and its share of the sums over points."""
        share, evidence = self.posterior(block, state)
        values, missing = self.counts(block, share, state)
        stats = MixtureStatistics(values, missing, share.sum(axis=0), float(evidence.sum()))
        return RowWeights(share @ self.points), stats

    def settle(self, block: Block, local: RowWeights, state: Averaged) -> RowWeights:
        """Posterior means depend on nothing but the state."""
        return RowWeights(self.posterior(block, state)[0] @ self.points)

    def global_step(self, stats: MixtureStatistics, state: Any, rng: Any) -> Any:
        """Eqs. 10-11 of Bingham et al. (2009), with points in the place of rows."""
        a, s = state.components, self.points
        p = self.profiles(state).components
        zeros = np.maximum(stats.share[:, None] - stats.missing - stats.values, 0)
        one = a * (s.T @ (stats.values / p)) + self.prior * self.column_mean
        zero = (1 - a) * (s.T @ (zeros / (1 - p))) + self.prior * (1 - self.column_mean)
        total = one + zero
        new = np.divide(one, total, out=a.copy(), where=total > 1e-30)
        return Averaged(self.clip(new), self.shares(stats))

    def project(self, trial: Point, reference: Point) -> Point:
        """Components into (0, 1), proportions onto the simplex."""
        a = clip_to_reference(trial.state.components, reference.state.components)
        shares = self.project_shares(trial.state, reference.state)
        return Point(Averaged(self.clip(a), shares), trial.local)
