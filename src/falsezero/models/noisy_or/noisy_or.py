"""Noisy-or component analysis: overlapping causes, each on or off, and a leak.

T. Šingliar and M. Hauskrecht, "Noisy-or component analysis and its application to link analysis",
Journal of Machine Learning Research 7 (2006). Equation numbers are that paper's.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from falsezero.base.capabilities import Capabilities
from falsezero.base.criteria import sparse_block_rows
from falsezero.base.estimator import Interval, OptimisedModel, StrOptions, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.data.numbers import checked_count
from falsezero.data.tidy import Tidy
from falsezero.data.validate import column_names
from falsezero.inference.contract import Fit, Point
from falsezero.models.noisy_or.likelihood import (
    ENUMERABLE,
    exact_log_likelihood,
    importance_log_likelihood,
)
from falsezero.models.noisy_or.start import is_needed, random_sources, search_sources
from falsezero.models.noisy_or.steps import (
    FactorisedSteps,
    NoisyOrState,
    NoisyOrSteps,
    RowShares,
    RowStates,
    TruncatedSteps,
)

__all__ = ["NoisyOr"]

_STARTS = {"search": search_sources, "random": random_sources}


class NoisyOr(OptimisedModel):
    """Overlapping causes of ones: a noisy-or of binary sources with a leak.

    Source k is on in a row with probability pi_k (`priors_`); when on, it makes a one in column j
    with probability p_kj (`loadings_`), independently of all others; and a one appears without any
    source with probability p_0j (`leak_`): p(x_j = 1 | s) = 1 - (1 - p_0j) prod_k (1 - p_kj)^s_k
    (eq. 2). Sources that the data does not need shut themselves off (`active_`).

    Parameters
    ----------
    n_components : int, default=5
        Number of sources K.
    inference : {"truncated", "factorised"}, default="truncated"
        Approximation of the posterior of a row's sources. "truncated" is the exact posterior
        restricted to the row's most probable on/off codes, with a bound close to the log
        likelihood. "factorised" is the paper's, with independent sources and eq. 6: a looser bound
        that favours sources that do not overlap. The cost of an iteration grows with the ones of
        the table and with K.
    n_states : int, default=8
        On/off codes kept for each row when `inference` is "truncated". With as many codes as exist,
        2^n_components, the bound is the log likelihood.
    start : {"search", "random"}, default="search"
        How a fit starts. "search" compares short runs that begin with too many sources, seeded far
        apart, and drop the least useful ones. "random" draws all parameters at random, as the paper
        does (section 3.2); with ``inference="factorised"`` it also skips the restarts of rows from
        their most probable codes, which leaves just the paper's updates.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the bound by less than the
        fraction `tol`.
    n_init : int, default=1
        Number of complete fits, each from its own start; the best is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between EM steps; the bound never falls.
    binarize, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    loadings_, components_ : array of shape (n_components, n_columns)
        Probability p_kj that a source, when on, makes a one; the most frequent source first.
    leak_ : array of shape (n_columns,)
        Probability p_0j of a one that no source made.
    priors_ : array of shape (n_components,)
        Probability pi_k that a source is on.
    active_ : bool array of shape (n_components,)
        Whether a source is worth its links (section 3.3): without it the bound would lose more than
        half log(rows) for its prior and for each column that it makes with probability 0.05 or
        more. Sources found idle before the fit have loadings of zero.
    row_weights_ : array of shape (n_rows, n_components)
        Posterior probability of each source in the training rows.
    objective_, bound_ : float
        Lower bound on the log likelihood of the training table; see also `log_likelihood`.
    history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`.

    Examples
    --------
    >>> from falsezero.datasets import make_noisy_or_images
    >>> images = make_noisy_or_images(500, random_state=0)
    >>> model = NoisyOr(n_components=8, random_state=0).fit(images.table)
    >>> model.loadings_.shape, int(model.active_.sum())
    ((8, 64), 8)
    >>> bool(model.score(images.table) <= model.log_likelihood(images.table).mean())
    True
    """

    capabilities = Capabilities(
        table="binary",
        link="noisy-or",
        row_score="bound",
        sample_size="rows",
        sparse=True,
        distributed=True,
    )
    leak_: np.ndarray
    priors_: np.ndarray
    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
        "inference": [StrOptions({"truncated", "factorised"})],
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "start": [StrOptions({"search", "random"})],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        inference: str = "truncated",
        n_states: int = 8,
        start: str = "search",
        max_iter: int = 500,
        tol: float = 1e-6,
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
        self.inference = inference
        self.n_states = n_states
        self.start = start
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

    # -- the contract ---------------------------------------------------------------------------

    def _steps(self, blocks: Blocks) -> NoisyOrSteps:
        if self.inference == "factorised":
            restarts = self.start == "search"
            return FactorisedSteps(self.n_components, blocks, _STARTS[self.start], restarts)
        return TruncatedSteps(self.n_components, blocks, _STARTS[self.start], self.n_states)

    def _block_rows(self, values: Any) -> int | None:
        return sparse_block_rows(values)

    def _state(self) -> NoisyOrState:
        rates = -np.log1p(-self.components_.astype(float)), -np.log1p(-self.leak_.astype(float))
        return NoisyOrState(*rates, logit(self.priors_), hold=0)

    def _start_rows(self, blocks: Blocks) -> Point:
        state = self._state()
        return Point(state, self._steps(blocks).start_rows(blocks, state))

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        order = np.argsort(-fit.state.odds, kind="stable")
        self.components_ = -np.expm1(-fit.state.theta[order])
        self.leak_ = -np.expm1(-fit.state.leak)
        self.priors_ = expit(fit.state.odds[order])
        # The factorised bound has local optima, so rows kept warm during the fit may sit in others
        # than `transform` finds; the training rows get what `transform` gives.
        settled = self.inference == "factorised"
        local = self._settled(blocks) if settled else fit.local
        weights = np.concatenate([part.posterior for part in local])
        self.row_weights_ = weights if settled else weights[:, order]
        self.n_rows_ = blocks.shape[0]
        self.active_ = is_needed(self.row_weights_, self.components_, self.n_rows_)
        self.bound_ = fit.objective

    def _weights(self, local: RowStates | RowShares) -> np.ndarray:
        return local.posterior

    @property
    def _link_offset(self) -> np.ndarray:
        """-log(1 - leak).

        The link gives 1 - (1 - leak) prod_k (1 - w_k p_k), the expectation of eq. 2 for codes and
        for sources that are independent a posteriori; for others it is a plug-in.
        """
        leak = np.minimum(self.leak_.astype(float), 1 - 1e-16)
        offset: np.ndarray = -np.log1p(-leak)
        return offset.astype(self.leak_.dtype)

    # -- what is particular to binary sources ---------------------------------------------------

    @property
    def loadings_(self) -> np.ndarray:
        """The paper's name of `components_`, p_kj."""
        return self.components_

    def codes(self, X: Any) -> Any:
        """The on/off code of each row: 1 where a source is more likely on than off (section 4.4).

        Returns
        -------
        int array of shape (n_rows, n_components), or a `Table` with the row labels for a `Table`
        """
        weights = self._settle(self._blocks(X, reset=False))
        return self._labelled((weights > 0.5).astype(int), X, self.get_feature_names_out())

    def predict(self, X: Any) -> np.ndarray:
        """Each row's on/off code as an integer; the first source is the lowest bit.

        Rows with equal numbers have the same sources on; `codes` has one column per source.
        """
        codes = np.asarray(self.codes(X), dtype=int)
        places = [2**k for k in range(codes.shape[1])]
        numbers: np.ndarray = codes @ np.array(places, dtype=int if len(places) < 63 else object)
        return numbers

    def coding_error(self, X: Any) -> float:
        """Share of observed cells that differ when rows are drawn from their codes (section 4.4).

        The expectation over draws is taken exactly.
        """
        wrong = 0.0
        for block, weights in self.weights_by_block(X):
            p = self._expected((weights > 0.5).astype(float))
            codes = block.codes
            wrong += float(np.where(codes == 1, 1 - p, np.where(codes == 0, p, 0.0)).sum())
        return wrong / max(self._blocks(X, reset=False).n_observed, 1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Lower bound on the log likelihood of each row; cells not observed are left out."""
        blocks = self._blocks(X, reset=False)
        bounds: np.ndarray = np.concatenate([part.bound for part in self._settled(blocks)])
        # Rounding may lift the bound of a log probability above zero.
        np.minimum(bounds, 0, out=bounds)
        return bounds

    def log_likelihood(
        self, X: Any, method: str = "auto", n_draws: int = 1000, random_state: Any = None
    ) -> np.ndarray:
        """Log likelihood of each row (eq. 1), which shows how loose the bound is.

        Parameters
        ----------
        X : Table, array, sparse array or data frame
        method : {"auto", "exact", "importance"}, default="auto"
            "exact" sums over all 2^K codes; "importance" draws codes from each row's posterior and
            is slightly too low on average. "auto" is exact up to 15 sources.
        n_draws : int, default=1000
            Codes drawn for each row by "importance".
        random_state : int, Generator, RandomState or None
            Seed of the draws; the model's own with None.
        """
        check_is_fitted(self)
        n_sources = len(self.components_)
        if method not in ("auto", "exact", "importance"):
            raise ValueError(f"method= needs 'auto', 'exact' or 'importance', but is {method!r}.")
        if method == "exact" and n_sources > ENUMERABLE:
            raise ValueError(
                f"{n_sources} sources have 2^{n_sources} on/off codes, too many to sum; "
                "use method='importance'."
            )
        blocks, state = self._blocks(X, reset=False), self._state()
        if method == "exact" or (method == "auto" and n_sources <= 15):
            return np.concatenate([exact_log_likelihood(block, state) for block in blocks])
        rng = self._rng(random_state)
        return np.concatenate(
            [
                importance_log_likelihood(block, state, local.posterior, n_draws, rng)
                for block, local in zip(blocks, self._settled(blocks), strict=True)
            ]
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model: sources from their priors, then eq. 2."""
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        rng = self._rng(random_state)
        sources = rng.random((n_samples, len(self.priors_))) < self.priors_
        expected = self._expected(sources.astype(float))
        return (rng.random(expected.shape) < expected).astype(float)

    def _is_whole(self) -> bool:
        n_sources, n_columns = self.components_.shape
        return np.shape(self.leak_) == (n_columns,) and np.shape(self.priors_) == (n_sources,)

    def communities(self, n: int = 8) -> Tidy:
        """The strongest members of each active source with its prior: one row per member."""
        check_is_fitted(self)
        n = checked_count(n, "n")
        names = column_names(self)
        rows = [
            {"source": k, "prior": self.priors_[k], "column": names[j], "loading": loading[j]}
            for k, loading in enumerate(self.components_)
            if self.active_[k]
            for j in np.argsort(-loading, kind="stable")[:n]
        ]
        return Tidy.from_rows(rows, columns=("source", "prior", "column", "loading"))

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model, K D + K + D (section 2)."""
        n_sources, n_columns = self.components_.shape
        return n_sources * n_columns + n_sources + n_columns

    def _measures(self) -> dict[str, float]:
        return {"bound": self.bound_, "aic": self.aic(), "bic": self.bic()}

    def _importance(self) -> tuple[str, np.ndarray | None]:
        return "prior", self.priors_

    def _idle_components(self) -> dict[int, str]:
        return dict.fromkeys(np.flatnonzero(~self.active_).tolist(), "inactive")

    def _leak(self) -> np.ndarray | None:
        return self.leak_

    def aic(self) -> float:
        """Akaike's criterion with the bound for the log likelihood, -2 L + 2 P."""
        return -2 * self.bound_ + 2 * self.n_parameters_

    def bic(self) -> float:
        """Schwarz's criterion with the bound, -2 L + P log(rows): twice that of section 4.2."""
        return -2 * self.bound_ + self.n_parameters_ * float(np.log(self.n_rows_))

    def _rng(self, random_state: Any) -> np.random.Generator:
        seed = self.random_state if random_state is None else random_state
        return np.random.default_rng(spawn_seeds(seed, 1)[0])
