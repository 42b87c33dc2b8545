"""Shared code of mixtures, in which every row has a single component."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from falsezero.base.criteria import InformationCriteria, sparse_block_rows
from falsezero.base.estimator import Interval, OptimisedModel, spawn_seeds
from falsezero.data.blocks import Block, Blocks
from falsezero.data.numbers import checked_count
from falsezero.inference.contract import Fit, Point
from falsezero.models.convex.family import NEARER, RowWeights, uniform_rows

_BLOCK_CELLS = 2**18


class Mixture(NamedTuple):
    """The shared state: how frequent each component is, and its parameters for each column."""

    proportions: np.ndarray
    components: np.ndarray


class MixtureStatistics(NamedTuple):
    """Additive over blocks, each weighted by the responsibilities of the components."""

    values: np.ndarray
    """Sum of the values, components x columns."""
    missing: np.ndarray | float
    """Number of cells not observed, components x columns; 0 where there are none."""
    share: np.ndarray
    """Number of rows of each component."""
    log_likelihood: float


class MixtureSteps:
    """EM for a mixture: responsibilities of the components, then weighted means."""

    state_params = {"proportions": None, "components": 1}
    local_params: dict[str, int | None] = {}

    @abstractmethod
    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Mixture, list[RowWeights]]:
        """Starting point."""

    @abstractmethod
    def project(self, trial: Point, reference: Point) -> Point:
        """Bring an extrapolated point back into its domain."""

    @abstractmethod
    def log_joint(self, block: Block, state: Mixture) -> np.ndarray:
        """log p(component) + log p(row | component), rows x components."""

    @abstractmethod
    def counts(self, block: Block, weights: np.ndarray, state: Mixture) -> tuple[Any, Any]:
        """The fields `values` and `missing` of the statistics."""

    @abstractmethod
    def global_step(self, stats: MixtureStatistics, state: Mixture, rng: Any) -> Mixture:
        """The M-step."""

    def local_step(
        self, block: Block, local: RowWeights, state: Mixture, rng: Any
    ) -> tuple[RowWeights, MixtureStatistics]:
        """Responsibilities of the rows of a block by Bayes' rule."""
        weights, evidence = by_bayes(self.log_joint(block, state))
        values, missing = self.counts(block, weights, state)
        stats = MixtureStatistics(values, missing, weights.sum(axis=0), float(evidence.sum()))
        return RowWeights(weights), stats

    def objective(self, stats: MixtureStatistics, state: Mixture) -> float:
        """Log likelihood: every row summed over the components."""
        return stats.log_likelihood

    @staticmethod
    def log_proportions(state: Mixture) -> np.ndarray:
        """log pi_k; an extinct component gets the smallest probability of its precision."""
        return np.log(np.maximum(state.proportions, np.finfo(state.proportions.dtype).tiny))

    @staticmethod
    def shares(stats: MixtureStatistics) -> np.ndarray:
        """New proportions of the components."""
        return stats.share / stats.share.sum()

    @staticmethod
    def project_shares(trial: Mixture, reference: Mixture) -> np.ndarray:
        """Extrapolated proportions back on the simplex."""
        shares = np.maximum(trial.proportions, NEARER * reference.proportions)
        return shares / shares.sum()


def by_bayes(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities and log evidence of each row, in half the time of scipy's logsumexp."""
    highest = log_joint.max(axis=1, keepdims=True)
    weights = np.exp(log_joint - highest)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return weights, np.log(total) + highest


class MixtureModel(InformationCriteria, OptimisedModel):
    """Estimator of a mixture: everything but the distribution of a row within a component."""

    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
        "prior": [Interval(Real, 0, None, closed="left")],
    }

    @abstractmethod
    def _steps(self, blocks: Blocks) -> MixtureSteps:
        """EM for a table of this kind."""

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row."""
        return np.argmax(self.predict_proba(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each component as the one cause of a row."""
        return self._settle(self._blocks(X, reset=False))

    def score_samples(self, X: Any) -> np.ndarray:
        """Exact log likelihood of each row, summed over the components.

        A mixture needs no empirical Bayes: averaging over the training rows as in Bingham et al.,
        eq. 23, gives the same number. Cells not observed are left out.
        """
        blocks = self._blocks(X, reset=False)
        steps, state = self._steps(blocks), self._state(blocks)
        scores = [by_bayes(steps.log_joint(b, state))[1].ravel() for b in blocks]
        # No probability is above one; sums in single precision may be.
        return np.minimum(np.concatenate(scores), 0)

    def bic(self) -> float:
        """Schwarz's criterion of the fit, -2 L + P log(rows); smaller is better.

        The rows are what is drawn independently; cells of a row share one hidden cause.
        """
        n_rows = len(self.row_weights_)
        return -2 * self.log_likelihood_ + self.n_parameters_ * float(np.log(n_rows))

    def _importance(self) -> tuple[str, np.ndarray | None]:
        return "share", self.proportions_

    def cell_causes(self, block: Block, weights: np.ndarray) -> np.ndarray:
        """Posterior over components for every cell of a block: all cells of a row have one cause.

        Returns
        -------
        array of shape (n_components, n_rows, n_columns)
        """
        return np.repeat(weights.T[:, :, None], block.shape[1], axis=2)

    def _block_rows(self, values: Any) -> int | None:
        """Work arrays are only rows x components, so that blocks may be large."""
        return sparse_block_rows(values) or max(16, _BLOCK_CELLS // values.shape[1])

    def _state(self, blocks: Blocks) -> Mixture:
        dtype = blocks.dtype
        return Mixture(self.proportions_.astype(dtype), self.components_.astype(dtype))

    def _start_rows(self, blocks: Blocks) -> Point:
        return Point(self._state(blocks), uniform_rows(blocks, len(self.proportions_)))

    def _settle(self, blocks: Blocks) -> np.ndarray:
        """Responsibilities depend on the state alone, so one pass is enough."""
        steps, state = self._steps(blocks), self._state(blocks)
        return np.concatenate([by_bayes(steps.log_joint(b, state))[0] for b in blocks])

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        order = np.argsort(-fit.state.proportions, kind="stable")
        self.proportions_ = fit.state.proportions[order]
        self.components_ = fit.state.components[order]
        steps, state = self._steps(blocks), self._state(blocks)
        pairs = [by_bayes(steps.log_joint(b, state)) for b in blocks]
        self.row_weights_ = np.concatenate([weights for weights, _ in pairs])
        self.log_likelihood_ = float(sum(evidence.sum() for _, evidence in pairs))
        self.n_observed_ = blocks.n_observed

    def _weights(self, local: RowWeights) -> np.ndarray:
        return local.weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's common tests read these tags if there is a `predict_proba`, and expect it
        # to have four columns: run them with four components.
        tags.classifier_tags = ClassifierTags()
        return tags

    def _draw_components(self, n_samples: int, random_state: Any) -> tuple[np.ndarray, Any]:
        """The component of each new row, and the generator for further draws."""
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        share = self.proportions_ / self.proportions_.sum(dtype=float)
        return rng.choice(len(share), size=n_samples, p=share), rng
