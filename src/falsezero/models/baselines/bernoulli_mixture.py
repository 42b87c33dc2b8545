"""The mixture of Bernoullis: every row has one cause, which explains all its zeros and ones.

B. S. Everitt and D. J. Hand, "Finite mixture distributions", 1981, also known as latent class
analysis; the model MB that Bingham et al. (2009) and Kabán and Bingham (2008) compare with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.base.capabilities import Capabilities
from falsezero.data.blocks import Block, Blocks
from falsezero.inference import tree
from falsezero.inference.contract import Point
from falsezero.models.baselines.mixture import (
    Mixture,
    MixtureModel,
    MixtureStatistics,
    MixtureSteps,
)
from falsezero.models.convex.family import RowWeights, clip_to_reference, floor_of

__all__ = ["BernoulliMixture"]


class BernoulliSteps(MixtureSteps):
    """EM with p(row | k) = prod_t a_kt^x (1 - a_kt)^(1 - x) over the observed cells.

    A row's log likelihood is linear in its ones, so that a pass costs two matrix products, and for
    a sparse table only its ones are visited. `prior` pseudo-observations at the column's own mean
    make the likelihood a posterior.
    """

    def __init__(self, n_components: int, blocks: Blocks, prior: float = 0.0):
        self.n_components = n_components
        self.prior = prior
        total, observed = blocks.column_counts
        self.column_mean = ((total + 0.5) / (observed + 1)).astype(blocks.dtype)
        self.floor = floor_of(blocks.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Mixture, list[RowWeights]]:
        """Components that belong to random responsibilities: all near the column means.

        From there EM finds the best optimum more often than from rows drawn at random.
        """
        k, dtype = self.n_components, blocks.dtype
        local = [RowWeights(_random_shares(rng, b.shape[0], k).astype(dtype)) for b in blocks]
        start = Mixture(np.full(k, 1 / k, dtype), np.tile(self.column_mean, (k, 1)))
        parts = []
        for block, rows in zip(blocks, local, strict=True):
            counts = self.counts(block, rows.weights, start)
            parts.append(MixtureStatistics(*counts, rows.weights.sum(axis=0), 0.0))
        return self.global_step(tree.total(parts), start, rng), local

    def log_joint(self, block: Block, state: Mixture) -> np.ndarray:
        """log pi_k + sum of x log a + (1 - x) log(1 - a) over the observed cells."""
        log_zero = np.log1p(-state.components)
        contrast = np.log(state.components) - log_zero
        base = self.log_proportions(state) + log_zero.sum(axis=1)
        log_joint: np.ndarray = np.asarray(block.values @ contrast.T) + base
        if block.missing is not None:
            log_joint -= np.asarray(block.missing.astype(log_zero.dtype) @ log_zero.T)
        return log_joint

    def counts(self, block: Block, weights: np.ndarray, state: Mixture) -> tuple[Any, Any]:
        """Expected ones, and expected cells not observed, of each component and column."""
        values = np.asarray(block.values.T @ weights).T
        if block.missing is None:
            return values, 0.0
        return values, np.asarray(block.missing.astype(weights.dtype).T @ weights).T

    def global_step(self, stats: MixtureStatistics, state: Mixture, rng: Any) -> Mixture:
        """The share of ones among the observed cells that each component is responsible for."""
        ones = stats.values + self.prior * self.column_mean
        total = stats.share[:, None] - stats.missing + self.prior
        kept = np.array(np.broadcast_to(state.components, ones.shape))
        new = np.divide(ones, total, out=kept, where=total > 1e-6)
        return Mixture(self.shares(stats), self.clip(new))

    def objective(self, stats: MixtureStatistics, state: Mixture) -> float:
        """Log likelihood, with the log prior where there is one."""
        if not self.prior:
            return stats.log_likelihood
        a, mean = state.components, self.column_mean
        prior = self.prior * float((mean * np.log(a) + (1 - mean) * np.log1p(-a)).sum())
        return stats.log_likelihood + prior

    def project(self, trial: Point, reference: Point) -> Point:
        """Components into (0, 1), proportions onto the simplex."""
        a = clip_to_reference(trial.state.components, reference.state.components)
        shares = self.project_shares(trial.state, reference.state)
        return Point(Mixture(shares, self.clip(a)), trial.local)

    def clip(self, components: np.ndarray) -> np.ndarray:
        """Components no nearer to 0 and 1 than their precision can tell."""
        clipped: np.ndarray = np.clip(components, self.floor, 1 - self.floor)
        return clipped


def _random_shares(rng: np.random.Generator, n_rows: int, k: int) -> np.ndarray:
    shares = rng.random((n_rows, k))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


class BernoulliMixture(MixtureModel):
    """Group the rows of a table of zeros and ones: one cause per row (latent class analysis).

    Row n belongs to component k with probability pi_k (`proportions_`), and then has a one in
    column t with probability a_kt (`components_`). Maximum likelihood by EM. Its posterior
    probabilities are what `transform` and `predict_proba` give.

    Parameters
    ----------
    n_components : int, default=5
        Number of components (groups, latent classes).
    prior : float, default=0.0
        Weight of a prior in pseudo-observations: each component is drawn towards the column means.
        0 is maximum likelihood.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init : int, default=1
        Number of random starts; the best is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between EM steps; the objective never falls either way.
    binarize, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Probability of a one; components are ordered by their proportion, largest first.
    proportions_ : array of shape (n_components,)
        Share of each component, pi_k.
    row_weights_ : array of shape (n_rows, n_components)
        Posterior probability of each component for the training rows.
    log_likelihood_ : float
        Exact log likelihood of the training table.
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> model = BernoulliMixture(n_components=2, n_init=3, random_state=0).fit(X)
    >>> labels = model.predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    capabilities = Capabilities(
        table="binary",
        link="convex",
        row_score="density",
        sample_size="rows",
        sparse=True,
        distributed=True,
    )

    def __init__(
        self,
        n_components: int = 5,
        *,
        prior: float = 0.0,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_init: int = 1,
        acceleration: str | None = "squarem",
        binarize: float | None = None,
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.binarize = binarize
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> BernoulliSteps:
        return BernoulliSteps(self.n_components, blocks, self.prior)

    def _state(self, blocks: Blocks) -> Mixture:
        # Rows may come in single precision to a model that was fitted in double.
        state = super()._state(blocks)
        return state._replace(components=self._steps(blocks).clip(state.components))

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit, T K + K - 1."""
        n_components, n_columns = self.components_.shape
        return n_columns * n_components + n_components - 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model."""
        component, rng = self._draw_components(n_samples, random_state)
        expected = self.components_[component]
        drawn: np.ndarray = rng.random(expected.shape) < expected
        return drawn.astype(float)
