"""The mixture of unigrams: every row of counts is drawn from one distribution over columns.

K. Nigam, A. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and unlabeled
documents using EM", Machine Learning 39 (2000); the baseline of Šingliar and Hauskrecht (2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.base.bags import CompletesRows, log_orders
from falsezero.base.capabilities import Capabilities
from falsezero.data.blocks import Block, Blocks
from falsezero.data.table import Table
from falsezero.data.validate import check_room
from falsezero.inference.contract import Fit, Point
from falsezero.models.baselines.mixture import (
    Mixture,
    MixtureModel,
    MixtureStatistics,
    MixtureSteps,
)
from falsezero.models.convex.family import NEARER, RowWeights, uniform_rows

__all__ = ["UnigramMixture"]

_FLOOR = 1e-12


class UnigramSteps(MixtureSteps):
    """EM with p(row | k) = prod_t phi_kt^x, given how many tokens the row has.

    Where cells were not observed, phi is renormalised to the columns that were; the tokens that
    the others would have held are filled in by their expectation (EM for a truncated multinomial).
    `prior` pseudo-tokens, spread like the column totals, make the likelihood a posterior.
    """

    def __init__(self, n_components: int, blocks: Blocks, prior: float = 0.0):
        self.n_components = n_components
        self.prior = prior
        total = blocks.column_counts[0] + 1.0 / blocks.shape[1]
        self.column_share = (total / total.sum()).astype(blocks.dtype)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Mixture, list[RowWeights]]:
        """Components around the column totals, each column scaled at random."""
        k = self.n_components
        noise = rng.gamma(2.0, size=(k, blocks.shape[1]))
        proportions = np.full(k, 1 / k, blocks.dtype)
        components = _normalised((noise * self.column_share).astype(blocks.dtype))
        return Mixture(proportions, components), uniform_rows(blocks, k)

    def log_joint(self, block: Block, state: Mixture) -> np.ndarray:
        """log pi_k + sum of x log phi over the observed columns."""
        base = self.log_proportions(state)
        log_joint: np.ndarray = np.asarray(block.values @ np.log(state.components).T) + base
        if block.missing is not None:
            log_joint -= _totals(block) * np.log(self._seen(block, state))
        return log_joint

    def counts(self, block: Block, weights: np.ndarray, state: Mixture) -> tuple[Any, Any]:
        """Expected tokens of each component and column."""
        values = np.asarray(block.values.T @ weights).T
        if block.missing is None:
            return values, 0.0
        unseen = weights * _totals(block) / self._seen(block, state)
        filled = np.asarray(block.missing.astype(weights.dtype).T @ unseen).T
        return values + state.components * filled, 0.0

    def global_step(self, stats: MixtureStatistics, state: Mixture, rng: Any) -> Mixture:
        """The share of a component's tokens that each column has."""
        tokens = stats.values + self.prior * self.column_share
        total = tokens.sum(axis=1, keepdims=True)
        # A component without tokens keeps what it has.
        new = np.divide(tokens, total, out=state.components.copy(), where=total > 1e-9)
        return Mixture(self.shares(stats), _normalised(new))

    def objective(self, stats: MixtureStatistics, state: Mixture) -> float:
        """Log likelihood, with the log prior where there is one."""
        if not self.prior:
            return stats.log_likelihood
        prior = self.prior * float((self.column_share * np.log(state.components)).sum())
        return stats.log_likelihood + prior

    def project(self, trial: Point, reference: Point) -> Point:
        """Components and proportions onto their simplices."""
        floor = NEARER * reference.state.components
        components = _normalised(np.maximum(trial.state.components, floor))
        shares = self.project_shares(trial.state, reference.state)
        return Point(Mixture(shares, components), trial.local)

    @staticmethod
    def _seen(block: Block, state: Mixture) -> np.ndarray:
        """The part of each component's probability that lies in a row's observed columns."""
        missing: Any = block.missing
        unseen = np.asarray(missing.astype(state.components.dtype) @ state.components.T)
        seen: np.ndarray = np.maximum(1 - unseen, _FLOOR)
        return seen


def _totals(block: Block) -> np.ndarray:
    return np.asarray(block.values.sum(axis=1)).reshape(-1, 1)


def _normalised(components: np.ndarray) -> np.ndarray:
    components = np.maximum(components, _FLOOR)
    shares: np.ndarray = components / components.sum(axis=1, keepdims=True)
    return shares


class UnigramMixture(CompletesRows, MixtureModel):
    """Group the rows of a table of counts: all tokens of a row have one cause.

    Row n belongs to component k with probability pi_k (`proportions_`), and its tokens are then
    drawn from p(column | k) (`components_`). Maximum likelihood by EM. Its posterior probabilities
    are what `transform` and `predict_proba` give; `reconstruct` gives expected counts.

    `score_samples` is the exact log probability of a row's counts given their total, summed over
    the components.

    Parameters
    ----------
    n_components : int, default=5
        Number of components (groups).
    prior : float, default=0.0
        Weight of a prior in pseudo-tokens, spread like the column totals, for each component.
    max_iter, tol, n_init, acceleration, checkpoint, callback, n_jobs, random_state, verbose
        As in `BernoulliMixture`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        p(column | component), each row summing to one; ordered by proportion, largest first.
    log_likelihood_ : float
        Of the training table's tokens, without the multinomial coefficients of its rows.
    proportions_, row_weights_, objective_, history_, converged_, n_iter_
        As in `BernoulliMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[4, 2, 0, 0], [2, 1, 0, 0], [0, 0, 3, 3], [0, 0, 1, 1]])
    >>> model = UnigramMixture(n_components=2, n_init=3, random_state=0).fit(counts)
    >>> labels = model.predict(counts)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    capabilities = Capabilities(
        table="weight",
        link=None,
        row_score="bag",
        completes_rows=True,
        sample_size="rows",
        sparse=True,
        distributed=True,
    )
    _parameter_constraints = {**MixtureModel._parameter_constraints}
    del _parameter_constraints["binarize"]

    def __init__(
        self,
        n_components: int = 5,
        *,
        prior: float = 0.0,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_init: int = 1,
        acceleration: str | None = "squarem",
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
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> UnigramSteps:
        return UnigramSteps(self.n_components, blocks, self.prior)

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        super()._adopt(fit, blocks)
        self.row_totals_ = np.concatenate([_totals(b).ravel() for b in blocks])

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        expected: np.ndarray = weights @ self.components_
        return expected

    def reconstruct(self, X: Any, keep: Any = None) -> Any:
        """Expected counts: under each component, the row's total times p(column).

        Where cells were not observed, a component that has its tokens there makes more of them: the
        total is scaled up by what the component leaves for the observed columns.
        """
        check_room(self, X)
        blocks = self._blocks(X, reset=False)
        weights = self.reweigh(self._settle(blocks), keep)
        tokens = [weights[b.rows] * self._lengths(b) for b in blocks]
        return self._labelled(
            self._expected(np.concatenate(tokens)), X, X.columns if isinstance(X, Table) else None
        )

    def score_samples(self, X: Any) -> np.ndarray:
        """Log probability of each row's counts given their total, summed over the components.

        Cells not observed are left out, and the total is that of the others.
        """
        orders = [log_orders(block.csr) for block in self._blocks(X, reset=False)]
        scores: np.ndarray = super().score_samples(X) + np.concatenate(orders)
        return scores

    def _lengths(self, block: Block) -> np.ndarray:
        """Expected tokens of each row under each component, columns not observed among them."""
        if block.missing is None:
            return _totals(block)
        state = Mixture(self.proportions_, self.components_)
        lengths: np.ndarray = _totals(block) / UnigramSteps._seen(block, state)
        return lengths

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit, (T - 1) K + K - 1."""
        n_components, n_columns = self.components_.shape
        return (n_columns - 1) * n_components + n_components - 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows of counts, their totals taken at random from the training rows."""
        component, rng = self._draw_components(n_samples, random_state)
        totals = rng.choice(self.row_totals_, size=n_samples).astype(int)
        p = self.components_[component].astype(float)
        counts: np.ndarray = rng.multinomial(totals, p / p.sum(axis=1, keepdims=True)).astype(float)
        return counts
