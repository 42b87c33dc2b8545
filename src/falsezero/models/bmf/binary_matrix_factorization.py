"""Binary matrix factorization: overlapping clusters of rows and of columns at once.

E. Meeds, Z. Ghahramani, R. Neal and S. Roweis, "Modeling dyadic data with binary latent factors",
NIPS 19 (2007). Equation and section numbers are that paper's.
"""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from falsezero.base._sklearn import fit_context
from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import Interval, StrOptions
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.models.bmf.agreement import feature_agreement, prediction_agreement
from falsezero.models.bmf.answers import PosteriorAnswers, Prediction
from falsezero.models.bmf.integrated import NormalWeights
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.predict import (
    Draw,
    aligned_share,
    ordered_draw,
    representative,
)
from falsezero.models.bmf.sampler import Model, SamplerSteps
from falsezero.models.bmf.state import Cells, Gamma, Priors

_DISAGREE = 1.1
"""R-hat above which chains are said to disagree."""

__all__ = ["BinaryMatrixFactorization", "Draw", "Prediction"]


class BinaryMatrixFactorization(PosteriorAnswers):
    """Binary features of rows and of columns, as many as the table supports, by Markov chains.

    Row i has binary features u_i, column j has v_j, and a matrix of weights W says how they
    interact: cell (i, j) depends on u_i W v_j' (eq. 1). Features may overlap, so this is
    bi-clustering with overlapping clusters. The number of features on each side is fixed
    (Beta-Bernoulli) or inferred (Indian buffet process). Unobserved cells are left out and are
    predicted with their uncertainty.

    Parameters
    ----------
    n_row_features, n_column_features : int or None, default=None
        Number of features to learn on each side; None infers it.
    likelihood : {"logistic", "gaussian", "poisson"}, default="logistic"
        For tables of zeros and ones, real numbers, counts: u W v' is the log odds, the mean, or the
        rate. A Gaussian table is standardised for sampling; answers are in its own units.
    bias : bool, default=True
        A feature that every row has, and one that every column has.
    known_rows, known_columns : array of shape (n_rows, k) or (n_columns, k), optional
        Features known beforehand (zeros and ones); they are kept while others are learnt.
    n_chains, warmup, n_draws, thin : int
        Chains, sweeps before the first draw, draws kept of each chain, sweeps between two draws.
    split_merge : int, default=1
        Split or merge proposals on each side in a sweep.
    start : {"table", "prior"}, default="table"
        How chains start: with binary features taken from the leading singular vectors of the table,
        or with few features from the prior, as in the paper, where chains may get stuck.
    row_concentration, column_concentration, weight_prior, noise_prior : (shape, rate)
        Gamma hyperpriors of alpha, lambda, phi and theta (section 2). For counts, whose weights are
        exponential, the rate of `weight_prior` is in units of the table's mean count.
    beta : float, default=1.0
        Second parameter of the Beta priors of features, on both sides (section 2): given alpha, a
        row has alpha / beta features on average where their number is inferred, and large values
        want features that few rows share. The paper's experiments have 1.
    binarize : float or None, default=None
        Logistic only: values above this number become ones.
    callback : callable or None
        Called with every row of the history; returning True stops that chain.
    n_jobs : int or None, default=-1
        Number of threads, at most one per chain; by default all cores. The answer does not depend
        on it.
    random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    row_features_, column_features_ : arrays of shape (n_rows, K) and (n_columns, L)
        U and V of a representative draw (nearest the average prediction): the bias first where
        there is one, then known features, then learnt ones by size.
    weights_ : array of shape (K, L)
        W of that draw (Gaussian: in standard deviations of the table).
    components_ : array of shape (K, n_columns)
        W V': what each row feature adds to every column.
    row_weights_, column_weights_ : arrays of the shapes of U and V
        Share of draws in which a row (column) has the feature, after matching features.
    draws_ : list of `Draw`
        Every kept draw of every chain.
    chains_ : list of dict
        For each chain, the log joint, log likelihood, numbers of features and hyperparameters of
        its kept draws, none of which depends on the order of features; see `falsezero.diagnose`.
    observed_ : array of shape (n_rows, n_columns) or None
        Which cells of the training table were observed; None where all were.
    objective_ : float
        Mean log joint density of the kept draws.
    r_hat_, ess_ : float
        R-hat and effective sample size of expected cells: the worst of 200 cells after leaving out
        5 % of them; NaN with fewer than 20 draws per chain.
    feature_r_hat_ : float
        Largest R-hat of the log densities and of the features per row and per column. Small
        features come and go slowly and hardly affect predictions, so this may be far above 1 where
        `r_hat_` is not; then do not rely on the number of features.
    history_, n_iter_, converged_
        `converged_` is True if no chain was stopped early and their predictions agree (`r_hat_` at
        most 1.1).
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> table = np.kron(np.eye(2), np.ones((10, 6)))
    >>> model = BinaryMatrixFactorization(n_chains=1, warmup=60, n_draws=40, random_state=0)
    >>> expected = model.fit(table).posterior_predict()
    >>> bool((np.abs(expected - table) < 0.4).all())
    True
    """

    _parameter_constraints = {
        "n_row_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_column_features": [Interval(Integral, 1, None, closed="left"), None],
        "likelihood": [StrOptions(set(LIKELIHOODS))],
        "bias": ["boolean"],
        "known_rows": ["array-like", None],
        "known_columns": ["array-like", None],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "split_merge": [Interval(Integral, 0, None, closed="left")],
        "start": [StrOptions({"table", "prior"})],
        "row_concentration": [tuple, list],
        "column_concentration": [tuple, list],
        "weight_prior": [tuple, list],
        "noise_prior": [tuple, list],
        "beta": [Interval(Real, 1e-6, 1e6, closed="both")],
        "binarize": [Real, None],
        "callback": [callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_row_features: int | None = None,
        n_column_features: int | None = None,
        *,
        likelihood: str = "logistic",
        bias: bool = True,
        known_rows: Any = None,
        known_columns: Any = None,
        n_chains: int = 4,
        warmup: int = 200,
        n_draws: int = 200,
        thin: int = 1,
        split_merge: int = 1,
        start: str = "table",
        row_concentration: tuple[float, float] = (1.0, 1.0),
        column_concentration: tuple[float, float] = (1.0, 1.0),
        weight_prior: tuple[float, float] = (1.0, 1.0),
        noise_prior: tuple[float, float] = (1.0, 1.0),
        beta: float = 1.0,
        binarize: float | None = None,
        callback: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_row_features = n_row_features
        self.n_column_features = n_column_features
        self.likelihood = likelihood
        self.bias = bias
        self.known_rows = known_rows
        self.known_columns = known_columns
        self.n_chains = n_chains
        self.warmup = warmup
        self.n_draws = n_draws
        self.thin = thin
        self.split_merge = split_merge
        self.start = start
        self.row_concentration = row_concentration
        self.column_concentration = column_concentration
        self.weight_prior = weight_prior
        self.noise_prior = noise_prior
        self.beta = beta
        self.binarize = binarize
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """Depend on the likelihood, which determines the kind of table."""
        return Capabilities(table=self._observation.table_kind, link=None, row_score="density")

    # -- fitting --------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> BinaryMatrixFactorization:
        """Sample features of rows and columns from a table.

        The table is given as for `AspectBernoulli.fit`; `y` is ignored.
        """
        table = self._table(X, reset=True)
        self._standardise_by(table)
        cells = self._standardised(table)
        steps = SamplerSteps(self._model(cells), cells)
        blocks = Blocks.cut(cells.values, block_rows=len(table))
        expected = self.warmup + self.n_draws * self.thin
        record = partial(_record, cells=cells, normal=self.likelihood == "gaussian")
        chains = self._run_chains(steps, blocks, record)
        self.history_ = [row for chain in chains for row in chain.history]
        self.n_iter_ = max(len(chain.history) for chain in chains)
        kept = [chain.draws or [record(chain.last)] for chain in chains]
        self.draws_ = [d._replace(chain=c) for c, draws in enumerate(kept) for d in draws]
        self.observed_ = None if cells.complete else cells.observed.astype(np.uint8)
        self.chains_ = [_trace(draws) for draws in kept]
        self.objective_ = float(np.mean([draw.log_joint for draw in self.draws_]))
        self.r_hat_, self.ess_ = prediction_agreement(kept, self._observation)
        self.feature_r_hat_ = feature_agreement(self.chains_)
        whole = all(len(chain.history) == expected for chain in chains)
        self.converged_ = whole and not self.r_hat_ > _DISAGREE
        if whole and not self.converged_:
            self._warn_of_disagreement()
        self._display()
        return self

    def _warn_of_disagreement(self) -> None:
        levels = ", ".join(f"{chain['log_joint'].mean():.0f}" for chain in self.chains_)
        who = "chains disagree" if self.n_chains > 1 else "chain has not settled"
        warnings.warn(
            f"{type(self).__name__}: the {who} (R-hat of expected cells {self.r_hat_:.2f}; mean "
            f"log joint density of each chain: {levels}), so averages over draws depend on where "
            "chains started; "
            "raise warmup and n_draws.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _standardise_by(self, table: np.ndarray) -> None:
        """Set the sampler's units: a Gaussian table has variance 1 and, with a bias, mean 0."""
        self.offset_, self.scale_ = 0.0, 1.0
        seen = table[~np.isnan(table)].astype(float)
        if self.likelihood != "gaussian" or not seen.size:
            return
        # In units of the largest value: squares of 1e155 are beyond double precision.
        unit = float(np.abs(seen).max()) or 1.0
        seen = seen / unit
        offset = float(seen.mean()) if self.bias else 0.0
        spread = float(np.sqrt(((seen - offset) ** 2).mean()))
        self.offset_ = offset * unit
        self.scale_ = spread * unit if spread > 1e-12 else 1.0

    def _model(self, cells: Cells) -> Model:
        n_rows, n_columns = cells.values.shape
        if self.likelihood == "poisson" and not self.bias:
            raise ValueError(
                'likelihood="poisson" needs bias=True: a row without features would have rate zero '
                "and could never hold a count."
            )
        shape, rate = self._gamma("weight_prior")
        if self.likelihood == "poisson":
            rate *= max(float(cells.values.sum()) / max(cells.n_observed, 1.0), 1e-3)
        priors = Priors(
            self._gamma("row_concentration"),
            self._gamma("column_concentration"),
            (shape, rate),
            self._gamma("noise_prior"),
        )
        return Model(
            self._observation,
            self._fixed(self.known_rows, n_rows, "known_rows", "rows"),
            self._fixed(self.known_columns, n_columns, "known_columns", "columns"),
            self.n_row_features or 0,
            self.n_column_features or 0,
            priors,
            self.split_merge,
            self.start == "table",
            float(self.beta),
        )

    def _gamma(self, name: str) -> Gamma:
        """Shape and rate of a hyperprior."""
        given = getattr(self, name)
        if len(given) != 2 or not all(0 < number < np.inf for number in given):
            raise ValueError(
                f"{name}= needs the shape and the rate of a gamma distribution, two positive "
                f"numbers, but is {given!r}."
            )
        return float(given[0]), float(given[1])

    def _fixed(self, known: Any, n: int, name: str, things: str) -> np.ndarray:
        """The bias and the known features, things x features."""
        features = np.ones((n, int(self.bias)), dtype=np.uint8)
        if known is None:
            return features
        given = np.asarray(known)
        if given.ndim != 2 or len(given) != n or not np.isin(given, (0, 1)).all():
            raise ValueError(
                f"{name}= needs zeros and ones, one line for each of the {n} {things}, "
                f"but has shape {given.shape}."
            )
        return np.hstack([features, given.astype(np.uint8)])

    def _n_known(self, known: Any) -> int:
        return int(self.bias) + (0 if known is None else np.asarray(known).shape[1])

    def _display(self) -> None:
        """Choose a representative draw, and match the features of the others to it."""
        known_rows, known_columns = (
            self._n_known(self.known_rows),
            self._n_known(self.known_columns),
        )
        typical = self.draws_[representative(self.draws_, self._observation)]
        typical = ordered_draw(typical, known_rows, known_columns)
        self.representative_ = typical
        self.row_features_ = typical.row_features
        self.column_features_ = typical.column_features
        self.weights_ = typical.weights
        self.components_ = typical.basis
        self.row_weights_ = aligned_share(
            [draw.row_features for draw in self.draws_], typical.row_features
        )
        self.column_weights_ = aligned_share(
            [draw.column_features for draw in self.draws_], typical.column_features
        )


def _record(point: Point, cells: Cells, normal: bool) -> Draw:
    """The draw of a point, with the conditional mean of its weights where they are normal."""
    weights = NormalWeights.of(point.state, cells) if normal else None
    return Draw.of(point.state, None if weights is None else weights.mean(cells.values))


def _trace(draws: list[Draw]) -> dict[str, np.ndarray]:
    """Quantities for diagnostics, which do not depend on the order of features."""
    names = [
        "log_joint", "log_likelihood", "row_concentration", "column_concentration",
        "weight_scale", "precision",
    ]  # fmt: skip
    trace = {name: np.array([getattr(draw, name) for draw in draws]) for name in names}
    trace["n_row_features"] = np.array([float(d.weights.shape[0]) for d in draws])
    trace["n_column_features"] = np.array([float(d.weights.shape[1]) for d in draws])
    trace["features_per_row"] = np.array([d.row_features.sum(axis=1).mean() for d in draws])
    trace["features_per_column"] = np.array([d.column_features.sum(axis=1).mean() for d in draws])
    return trace
