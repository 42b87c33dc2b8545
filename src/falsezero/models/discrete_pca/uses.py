"""Methods of a fitted Discrete PCA: weights of rows, held-out scores, new rows, draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from falsezero.backends import workers
from falsezero.base.bags import CompletesRows
from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import OptimisedModel, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.data.numbers import checked_count
from falsezero.inference.contract import Point
from falsezero.inference.engine import settle_rows
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.mean_field import Rows
from falsezero.models.discrete_pca.row_likelihood import KnownModel, bag_log_likelihood
from falsezero.models.discrete_pca.rows import KnownTheta, expected_weights

_DRAWS = 200


class CountModel(CompletesRows, OptimisedModel):
    """Base of models of counts whose rows mix components: all methods except fitting.

    A fitted model has `components_`, `alpha_`, `beta_` and `family_`.
    """

    capabilities = Capabilities(
        table="weight",
        link=None,
        row_score="bag",
        completes_rows=True,
        leaves_cells_out=False,
        sparse=True,
    )
    components_: np.ndarray
    alpha_: np.ndarray
    beta_: np.ndarray
    family_: Family

    @property
    def _hyper(self) -> Hyper:
        return Hyper(self.alpha_, self.beta_)

    def _start_rows(self, blocks: Blocks) -> Point:
        return KnownTheta(self.family_, blocks, self._hyper).start(blocks, self.components_.T)

    def _weights(self, local: Rows) -> np.ndarray:
        return expected_weights(self.family_, local)

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        """Expected counts of a Poisson block; the share of its group for a multinomial column."""
        share = weights / weights.sum(axis=1, keepdims=True)
        poisson = self.family_.poisson
        table = share @ self.components_
        table[:, poisson] = weights @ self.components_[:, poisson]
        return table

    def _column_groups(self) -> dict[str, np.ndarray]:
        family = self.family_
        return {name: np.flatnonzero(family.groups == g) for g, name in enumerate(family.names)}

    @property
    def _average_weights(self) -> np.ndarray:
        if "row_weights_" in vars(self):
            return super()._average_weights
        # Learnt in batches, or given: there are no training rows, only the prior.
        return self.alpha_ / (self.beta_ if self.family_.gamma else self.alpha_.sum())

    def _settle(self, blocks: Blocks, exposure: float = 1.0) -> np.ndarray:
        steps = KnownTheta(self.family_, blocks, self._hyper, exposure)
        point = steps.start(blocks, self.components_.T)
        with workers(self.n_jobs, len(blocks)) as run:
            local = settle_rows(steps, blocks, point, run, max_iter=200, tol=1e-7)
        return np.concatenate([self._weights(part) for part in local])

    def score_samples(self, X: Any) -> np.ndarray:
        """Log probability of each row's counts given their total, the weights integrated out.

        With the multinomial coefficient, as in every model of counts. Rows of several groups of
        columns are judged given the total of each. Estimated by importance sampling with 200 draws
        per row, seeded by its content: unbiased for the probability, so its logarithm tends to be
        low.
        """
        blocks = self._blocks(X, reset=False)
        values = sparse.csr_array(sparse.vstack([b.csr for b in blocks], format="csr"))
        return bag_log_likelihood(self._known, values, _DRAWS)

    @property
    def _known(self) -> KnownModel:
        return KnownModel(self.family_, self._hyper, self.components_)

    def _weights_of_half(self, shown: Blocks) -> np.ndarray:
        return self._settle(shown, exposure=0.5)

    def sample(self, n_samples: int = 1, *, length: Any = None, random_state: Any = None) -> Any:
        """Draw new rows of counts.

        Parameters
        ----------
        length : int, array of shape (n_groups,) or None
            Tokens of each multinomial group in a row; None stands for 100.
        random_state : int, Generator, RandomState or None
            Seed of the draws; the model's own with None.
        """
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        family = self.family_
        weights = rng.standard_gamma(self.alpha_, (n_samples, len(self.alpha_)))
        # Normalised gammas are a Dirichlet only where they have one rate.
        weights = np.maximum(weights / self.beta_ if family.gamma else weights, 1e-100)
        expected = self._expected(weights)
        lengths = np.broadcast_to(100 if length is None else length, (len(family.names),))
        rows = np.zeros(expected.shape)
        poisson = family.poisson
        rows[:, poisson] = rng.poisson(expected[:, poisson])
        for g in range(len(family.names)):
            inside = (family.groups == g) & ~poisson
            if inside.any():
                p = expected[:, inside].astype(float)
                rows[:, inside] = rng.multinomial(lengths[g], p / p.sum(axis=1, keepdims=True))
        return rows
