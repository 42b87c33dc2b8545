"""The rows that a split or merge concerns, and the likelihood of their features.

Each likelihood has its own kind of part. All answer two questions: which weights are plausible if
`choice` gives the option of each row (`propose`), and how likely each row is under every option
(`terms`, up to a constant per row). Options are rows of `PARTS` or `WHOLE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np

from falsezero.kernels import bmf as entries
from falsezero.kernels import bmf_split as kernels
from falsezero.models.bmf.likelihoods import GammaProposal, NormalProposal, WeightProposal
from falsezero.models.bmf.state import Cells, Features, State

PARTS = np.array([[1, 0], [0, 1], [1, 1]], dtype=float)
"""Options of a row of the split feature: the first part, the second, or both."""
WHOLE = np.ones((1, 1))
"""The one option of a row of the merged feature."""
NO_ROWS = np.empty(0, dtype=np.int64)
"""An empty choice: the scan is free."""
_LAUNCH_SCANS, _LAUNCH_STEPS = 3, 2
"""Restricted scans before the last one, and steps towards the mode of the weights in each."""


class Part(Protocol):
    """Some rows of the table, given all their features except those concerned."""

    def inside(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the model, in the coordinates of the part."""

    def outside(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the part, in the coordinates of the model."""

    def launch(
        self, choice: np.ndarray, anchors: np.ndarray, rows: Features, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Plausible choices after some restricted scans, and weights for them."""

    def initial_weights(self, options: np.ndarray) -> np.ndarray:
        """Weights from which the search for plausible ones starts."""

    def propose(
        self, options: np.ndarray, choice: np.ndarray, guess: np.ndarray, steps: int
    ) -> WeightProposal:
        """An approximate posterior of the weights, after `steps` from a guess where needed."""

    def terms(self, options: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Log likelihood of each row (lines) under each option, up to a constant of the row."""


def scan_parts(
    part: Part,
    choice: np.ndarray,
    weights: np.ndarray,
    anchors: np.ndarray,
    rows: Features,
    wanted: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """One restricted Gibbs scan, free or forced to end at `wanted`; with its log probability."""
    terms = np.ascontiguousarray(part.terms(PARTS, weights))
    uniforms = rng.random(0 if len(wanted) else len(terms))
    return kernels.restricted_scan(terms, choice, anchors, rows.mass, rows.total, wanted, uniforms)


class PairedNormal:
    """Posterior of one or two rows of weights, independent in the coordinates of a part."""

    def __init__(
        self,
        gram: np.ndarray,
        spread: np.ndarray,
        linear: np.ndarray,
        precision: float,
        ridge: float,
    ):
        self.mean, self.lower = kernels.paired_normals(gram, spread, linear, precision, ridge)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Weights from the posterior."""
        return kernels.paired_draw(self.mean, self.lower, rng.standard_normal(self.mean.shape))

    def log_density(self, weights: np.ndarray) -> float:
        """Log density at given weights."""
        constant = 0.5 * weights.size * np.log(2 * np.pi)
        return kernels.paired_log_density(weights, self.mean, self.lower) - constant


class GaussianPart:
    """Rows of a complete table of real numbers, in the directions of the eigenvectors of V'V.

    There the weights of a feature are independent and the table enters by its projections alone, so
    that no step costs more than rows x column features.
    """

    def __init__(self, state: State, cells: Cells, rest: np.ndarray):
        columns = state.columns.on.astype(float)
        gram = columns.T @ columns
        spread, self.vectors = np.linalg.eigh(gram)
        self.spread = spread.clip(0)
        slope = cells.values @ columns - rest @ (state.weights @ gram)
        self.slope = slope @ self.vectors
        self.precision, self.ridge = state.precision, state.weight_scale

    def inside(self, weights: np.ndarray) -> np.ndarray:
        """Weights along the eigenvectors."""
        return weights @ self.vectors

    def outside(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the model."""
        return weights @ self.vectors.T

    def initial_weights(self, options: np.ndarray) -> np.ndarray:
        """Zeros: the posterior is exact whatever the start."""
        return np.zeros((options.shape[1], len(self.spread)))

    def launch(
        self, choice: np.ndarray, anchors: np.ndarray, rows: Features, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Plausible choices after some restricted scans, and weights for them."""
        noise = rng.standard_normal((_LAUNCH_SCANS + 1, 2, len(self.spread)))
        uniforms = rng.random((_LAUNCH_SCANS, len(choice)))
        return kernels.gaussian_launch(
            self.slope, self.spread, self.precision, self.ridge, choice, anchors, rows.mass,
            rows.total, noise, uniforms,
        )  # fmt: skip

    def propose(
        self, options: np.ndarray, choice: np.ndarray, guess: np.ndarray, steps: int
    ) -> PairedNormal:
        """The exact posterior of the weights."""
        parts = options[choice]
        gram, linear = parts.T @ parts, parts.T @ self.slope
        return PairedNormal(gram, self.spread, linear, self.precision, self.ridge)

    def terms(self, options: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Log likelihood of each row under each option, up to a constant of the row."""
        added = options @ weights
        return self.precision * (self.slope @ added.T - 0.5 * added**2 @ self.spread)


class _Plain(ABC):
    """Base of the parts of logistic and Poisson tables: the predictor without the features."""

    typical = 0.0
    """Initial weight in units of the prior's scale."""

    def __init__(self, state: State, cells: Cells, rest: np.ndarray):
        self.base = rest @ state.basis
        self.values, self.observed = cells.values, cells.observed
        self.columns = state.columns.on.astype(float)
        self.ridge = state.weight_scale

    def inside(self, weights: np.ndarray) -> np.ndarray:
        """Weights as they are."""
        return weights

    outside = inside

    def initial_weights(self, options: np.ndarray) -> np.ndarray:
        """Weights from which the search for plausible ones starts."""
        shape = options.shape[1], self.columns.shape[1]
        return np.full(shape, self.typical / self.ridge)

    @abstractmethod
    def propose(
        self, options: np.ndarray, choice: np.ndarray, guess: np.ndarray, steps: int
    ) -> WeightProposal:
        """An approximate posterior of the weights."""

    @abstractmethod
    def terms(self, options: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Log likelihood of each row under each option, up to a constant of the row."""

    def launch(
        self, choice: np.ndarray, anchors: np.ndarray, rows: Features, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Plausible choices after some restricted scans, and weights for them."""
        guess = self.initial_weights(PARTS)
        for scan in range(_LAUNCH_SCANS + 1):
            proposal = self.propose(PARTS, choice, guess, _LAUNCH_STEPS)
            guess, weights = proposal.mean.reshape(guess.shape), proposal.draw(rng)
            if scan < _LAUNCH_SCANS:
                choice, _ = scan_parts(self, choice, weights, anchors, rows, NO_ROWS, rng)
        return choice, weights

    def _by_option(self, options: np.ndarray, choice: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Columns of a table added up over the rows of each option."""
        return np.eye(len(options))[choice].T @ table


class LogisticPart(_Plain):
    """Rows of a table of zeros and ones."""

    def __init__(self, state: State, cells: Cells, rest: np.ndarray):
        super().__init__(state, cells, rest)
        self.likely, self.unlikely = np.empty_like(self.base), np.empty_like(self.base)
        entries.row_odds(
            self.base.ravel(), np.exp(-np.abs(self.base)).ravel(), self.observed.ravel(),
            self.likely.reshape(-1), self.unlikely.reshape(-1),
        )  # fmt: skip

    def propose(
        self, options: np.ndarray, choice: np.ndarray, guess: np.ndarray, steps: int
    ) -> NormalProposal:
        """Normal approximation by the quadratic bound that touches the likelihood near its mode."""
        centred = self._by_option(options, choice, (self.values - 0.5) * self.observed)
        for _ in range(steps):
            added, factors = self._added(options, guess)
            curvature, pulled = kernels.logistic_curvature(
                choice, self.base, self.likely, self.unlikely, added, factors
            )
            linear = options.T @ (centred - pulled) @ self.columns
            proposal = NormalProposal(self._precision(options, curvature), linear)
            guess = proposal.mean.reshape(linear.shape)
        return proposal

    def _added(self, options: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each option adds to the log odds of every column, and its exponential."""
        limit = entries.LARGEST_LOG
        added = (options @ weights @ self.columns.T).clip(-limit, limit)
        return added, np.exp(added)

    def _precision(self, options: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        width, n = options.shape[1], self.columns.shape[1]
        matrix = np.empty((width, n, width, n))
        for a in range(width):
            for b in range(a + 1):
                line = (options[:, a] * options[:, b]) @ curvature
                block = (self.columns.T * line) @ self.columns
                matrix[a, :, b], matrix[b, :, a] = block, block
        square = matrix.reshape(width * n, width * n)
        square[np.diag_indices_from(square)] += self.ridge
        return square

    def terms(self, options: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Log likelihood of each row under each option, up to a constant of the row."""
        added, factors = self._added(options, weights)
        flush = entries.flush_after(added.ravel())
        partition = kernels.logistic_options(self.likely, self.unlikely, factors, flush)
        return self.values @ added.T - partition


class PoissonPart(_Plain):
    """Rows of a table of counts."""

    typical = 1.0

    def propose(
        self, options: np.ndarray, choice: np.ndarray, guess: np.ndarray, steps: int
    ) -> GammaProposal:
        """Gammas from a few rounds of expectation maximisation."""
        seen = self._by_option(options, choice, self.observed)
        rate = self.ridge + options.T @ seen @ self.columns
        for _ in range(steps):
            added = options @ guess @ self.columns.T
            shares = kernels.poisson_shares(choice, self.base, self.values, added)
            shape = 1.0 + guess * (options.T @ shares @ self.columns)
            guess = shape / rate
        return GammaProposal(shape, rate)

    def terms(self, options: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Log likelihood of each row under each option, up to a constant of the row."""
        added = options @ weights @ self.columns.T
        logs = kernels.poisson_options(self.base, self.values, added)
        return logs - self.observed @ added.T


KINDS: dict[int, Callable[[State, Cells, np.ndarray], Part]] = {
    entries.GAUSSIAN: GaussianPart,
    entries.LOGISTIC: LogisticPart,
    entries.POISSON: PoissonPart,
}
