"""Factors and imperfect detection in one likelihood, for data with repeated looks.

What is there follows the convex Bernoulli model (Bingham et al. 2009; Kabán and Bingham 2008); how
it shows at a look follows the occupancy model of MacKenzie et al. (Ecology 83, 2002) and, with
observers and false alarms, the model of Dawid and Skene (Applied Statistics 28, 1979).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import Interval, OptimisedModel, StrOptions, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.data.errors import DataError
from falsezero.data.looks import Looks
from falsezero.data.table import Table
from falsezero.inference.contract import Fit, Point
from falsezero.models.convex.detection import FIRST_SPREAD, Effects, LookRates, Prior
from falsezero.models.convex.look_answers import LookAnswers, column_rates
from falsezero.models.convex.look_door import LookDoor, RowTerms
from falsezero.models.convex.look_draws import Draws, sampled
from falsezero.models.convex.look_intervals import rate_covariance
from falsezero.models.convex.looks_steps import LooksSteps, Rows, State, content_steps
from falsezero.models.convex.row_prior import RowPrior, RowRegression

__all__ = ["RepeatedLooks"]

_ATOMS = 200
_SEEN = {"level": 2.0, "level_width": 1.5, "width": 1.0}
_ALARM = {"level": -3.0, "level_width": 1.0, "width": 1.0}
_FLAT = 100.0

_SAVED = (State, Effects, Draws, RowPrior, RowTerms)
"""What a saved fit is rebuilt from: named tuples must be known to the module of their model."""


class RepeatedLooks(LookDoor, LookAnswers, OptimisedModel):
    """Is it there although nobody saw it? Convex factors with imperfect detection.

    Cell (n, t) holds the thing, z_nt = 1, with probability pi_nt = sum_k w_nk a_kt, the factors of
    `AspectBernoulli` and `BinaryICA`. Each look at it records a one with the detection rate d_ntj
    where it is there, and with the false alarm rate f_ntj (0 unless `false_alarms`) where it is
    not. On the logit scale a rate is the sum of effects of the column, of the look's variables, of
    the observer, of the row and of the cell, see `falsezero.models.convex.detection`.

    Repeated looks separate detection from absence. With one look per cell only the product pi d is
    identified, and its split rests on the prior of detection alone.

    Parameters
    ----------
    n_components : int, default=3
        Number of components K of the content.
    inference : {"vb", "gibbs", "ml"}, default="vb"
        "vb" is variational Bayes with Beta sources, Dirichlet row weights and Gaussian effects
        whose widths are learnt. "gibbs" continues with a Markov chain, and `present`, `again` and
        `intervals` average over its draws; "vb" is much faster, but some per cent too sure of
        absences where looks are few. "ml" maximises the likelihood.
    detection : float or array of shape (n_columns,), optional
        Known detection rates; by default they are learnt.
    heterogeneity : float or "learn", default=0.0
        Standard deviation, on the logit scale, of detection between the cells of a column: some
        rows hold more of the thing than others. 2 spreads a rate of one half nearly evenly over
        (0, 1).
    false_alarms : bool, default=False
        Whether a look may record what is not there, with separate rates by column, variable and
        observer.
    row_effects : bool, default=False
        Whether rows differ in detection (effort, weather).
    observer_effects : bool, default=True
        Whether observers differ, where the looks say who made them.
    look_variables : "all" or list of str, default="all"
        Variables of the looks that detection may depend on, with a slope for each column.
    row_variables : "all" or list of str, default="all"
        Variables of the rows that the row weights may depend on, each with its square, so that
        similar rows have similar content and rows without looks get predictions ("vb" and
        "gibbs").
    row_detection : bool, default=False
        Whether detection depends on the row variables as well, with slopes for each column: where
        a row suits a species there is more of it to be seen.
    alpha0, beta0, gamma0 : float, default=0.5
        Beta prior of the sources and Dirichlet prior of the row weights ("vb"), or their initial
        values ("gibbs").
    n_draws : int, default=200
        Posterior draws to keep ("gibbs").
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init : int, default=1
        Number of random starts; the best is kept.
    acceleration : {"squarem", None}, default="squarem"
        Whether to take longer strides between steps; the objective never falls.
    binarize : float or None, default=None
        Tables only: values above this number become ones. With None, other values are refused.
    checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Probability a_kt that the thing is there; components are ordered by their total weight.
    row_weights_ : array of shape (n_rows, n_components)
    detection_, false_alarm_ : array of shape (n_columns,)
        Rates of a look under average conditions; false alarms only where asked for. With
        `row_detection`, those of the rows where the column is.
    observers_ : Tidy table or None
        Observers by skill: detection and, where asked for, false alarms, each averaged over the
        columns.
    rate_covariance_ : array of shape (n_columns, 2, 2)
        Posterior covariance of each column's detection (logit) and content (shift of log odds).
    heterogeneity_ : float
        The standard deviation between cells, learnt or as given.
    row_coefficients_ : array of shape (n_terms, n_components)
        Softmax coefficients of the row weights, intercepts first; only with row variables.
    draws_, detection_draws_ : draws of what all rows share, and of the detection rates ("gibbs")
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import falsezero as fz
    >>> made = fz.datasets.make_looks(100, 20, 3, n_components=2, random_state=0)
    >>> model = RepeatedLooks(2, random_state=0).fit(made.looks)
    >>> model.present(made.looks).shape
    (100, 20)
    """

    capabilities = Capabilities(table="binary", link=None, row_score="density")
    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
        "inference": [StrOptions({"vb", "gibbs", "ml"})],
        "detection": [Interval(Real, 0, 1, closed="right"), "array-like", None],
        "heterogeneity": [Interval(Real, 0, None, closed="left"), StrOptions({"learn"})],
        "false_alarms": ["boolean"],
        "row_effects": ["boolean"],
        "observer_effects": ["boolean"],
        "look_variables": [StrOptions({"all"}), list, tuple],
        "row_variables": [StrOptions({"all"}), list, tuple],
        "row_detection": ["boolean"],
        "alpha0": [Interval(Real, 0, None, closed="neither")],
        "beta0": [Interval(Real, 0, None, closed="neither")],
        "gamma0": [Interval(Real, 0, None, closed="neither")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 3,
        *,
        inference: str = "vb",
        detection: Any = None,
        heterogeneity: Any = 0.0,
        false_alarms: bool = False,
        row_effects: bool = False,
        observer_effects: bool = True,
        look_variables: Any = "all",
        row_variables: Any = "all",
        row_detection: bool = False,
        alpha0: float = 0.5,
        beta0: float = 0.5,
        gamma0: float = 0.5,
        n_draws: int = 200,
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
        self.inference = inference
        self.detection = detection
        self.heterogeneity = heterogeneity
        self.false_alarms = false_alarms
        self.row_effects = row_effects
        self.observer_effects = observer_effects
        self.look_variables = look_variables
        self.row_variables = row_variables
        self.row_detection = row_detection
        self.alpha0 = alpha0
        self.beta0 = beta0
        self.gamma0 = gamma0
        self.n_draws = n_draws
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

    # -- the mathematics --------------------------------------------------------------------------

    def _steps(self, blocks: Blocks, draws: bool = False) -> Any:
        shapes = (self.alpha0, self.beta0)
        looks: Any = blocks
        content = content_steps(self.inference, self.n_components, looks, shapes, self.gamma0)
        n_observers = 0 if self.observer_labels_ is None else len(self.observer_labels_)
        shape = (blocks.shape[1], self._n_terms, n_observers)
        spread = None if self.heterogeneity == "learn" else self.heterogeneity
        if spread is None and self.inference == "gibbs" and not draws:
            # A factorised posterior explains misses by content and lets the spread collapse.
            spread = FIRST_SPREAD
        seen = alarm = detection = None
        if self.detection is None:
            seen = LookRates(shape, self._prior(**_SEEN), has_rows=self.row_effects, spread=spread)
        else:
            detection = self._known_detection(blocks.shape[1])
        if self.false_alarms:
            alarm = LookRates(shape, self._prior(**_ALARM))
        regression = None
        if looks.has_variables:
            terms = looks[0].variables.shape[1]
            regression = RowRegression(terms, self.n_components, self.gamma0)
        return LooksSteps(content, seen, alarm, detection, regression)

    def _prior(self, level: float, level_width: float, width: float) -> Prior:
        is_learnt = self.inference != "ml"
        return Prior(level, level_width, width if is_learnt else _FLAT, is_learnt)

    def _known_detection(self, n_columns: int) -> np.ndarray:
        rates = np.asarray(self.detection, dtype=float)
        if rates.shape not in ((), (n_columns,)) or not ((rates > 0) & (rates <= 1)).all():
            raise DataError(
                f"detection= needs one rate in (0, 1] or one per column ({n_columns}), but has "
                f"shape {rates.shape} and values from {rates.min():g} to {rates.max():g}."
            )
        return np.broadcast_to(rates, (n_columns,)).copy()

    def _start_rows(self, blocks: Blocks) -> Point:
        steps = self._steps(blocks)
        uniform = np.full((blocks.shape[0], self.n_components), 1.0 / self.n_components)
        rows = steps.content.rows(uniform, blocks)
        return Point(self.state_, steps.rows([part[0] for part in rows]))

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = np.concatenate([self._weights(part) for part in fit.local])
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        arrays = {
            name: getattr(fit.state, name)[order] for name in ("alpha", "beta", "ones", "zeros")
        }
        prior = fit.state.row_prior
        self.__dict__.pop("row_coefficients_", None)
        if prior is not None:
            self.row_coefficients_ = prior.coefficients[:, order]
            still = np.zeros_like(prior.direction)
            prior = prior._replace(coefficients=self.row_coefficients_, direction=still)
        self.state_ = fit.state._replace(**arrays, row_prior=prior)
        self.components_ = self.state_.alpha / (self.state_.alpha + self.state_.beta)
        self.row_weights_ = weights[:, order]
        rows = [part._replace(content=part.content[:, order]) for part in fit.local]
        self.usual_terms_ = self._usual_terms(blocks, rows)
        self._adopt_rates(self._steps(blocks))
        self.rate_covariance_ = np.zeros((blocks.shape[1], 2, 2))
        if self.inference == "vb":
            self.rate_covariance_ = rate_covariance(self, blocks, rows)
        if self.inference == "gibbs":
            self._adopt_draws(blocks, rows)

    def _usual_terms(self, blocks: Any, rows: list[Any]) -> np.ndarray | None:
        """Mean terms of detection over the rows where each column is, looks at their mean."""
        if not self._n_row_slopes or self.detection is not None:
            return None
        steps, total, sums = self._steps(blocks), 0.0, 0.0
        for block, part in zip(blocks, rows, strict=True):
            present = self._plain_present(steps, block, part, self.state_)[0]
            total = total + present.sum(axis=0)
            sums = sums + present.T @ block.variables[:, 1:]
        usual = np.zeros((blocks.shape[1], self._n_terms))
        usual[:, 0] = 1.0
        usual[:, -self._n_row_slopes :] = sums / np.maximum(total, 1e-12)[:, None]
        return usual

    def _adopt_draws(self, blocks: Any, rows: list[Any]) -> None:
        seed = spawn_seeds(self.random_state, self.n_init + 1)[-1]
        self.draw_seed_ = int(seed.generate_state(1)[0])
        self.draws_ = sampled(self, blocks, Point(self.state_, rows), seed)
        self.detection_draws_ = np.tile(self.detection_, (self.n_draws, 1))
        steps = self._steps(blocks)
        if steps.seen is not None:
            states = (self.draws_.at(i).drawn for i in range(self.n_draws))
            self.detection_draws_ = np.array(
                [
                    column_rates(steps.seen, state.seen_mean, state.seen, self.usual_terms_)
                    for state in states
                ]
            )
            drawn: Any = self.draws_.states.seen
            self.heterogeneity_ = float(drawn.spread.mean())
        self.detection_ = self.detection_draws_.mean(axis=0)

    def _weights(self, local: Rows) -> np.ndarray:
        weights: np.ndarray = local.content / local.content.sum(axis=1, keepdims=True)
        return weights

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        return self._recorded(np.clip(weights @ self.components_, 0, 1))

    def _recorded(self, content: np.ndarray) -> np.ndarray:
        """Probability of a one at an average look, given how likely the thing is there."""
        rates: np.ndarray = content * self.detection_
        return rates if not self.false_alarms else rates + (1 - content) * self.false_alarm_

    # -- rows never seen --------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log likelihood of each row's looks, its weights integrated over those of training rows.

        At most 200 training rows stand for all of them.
        """
        blocks = self._blocks(X, reset=False)
        weights = self.row_weights_
        if len(weights) > _ATOMS:
            weights = weights[np.random.default_rng(0).choice(len(weights), _ATOMS, replace=False)]
        content = np.clip(weights @ self.components_, 1e-12, 1 - 1e-12)
        return np.concatenate([self._row_scores(block, content, blocks) for block in blocks])

    def _row_scores(self, block: Any, content: np.ndarray, blocks: Any) -> np.ndarray:
        steps = self._steps(blocks)
        _, _, evidence = steps.evidence(
            block.patterns, self.state_, steps._no_effects(len(block.codes))
        )
        one, zero, scale = (block.cells(part) for part in evidence)
        known: np.ndarray = np.where(one < 0, 0.0, scale).sum(axis=1)
        scores = np.empty((len(one), len(content)))
        for atom, pi in enumerate(content):
            cells = np.where(one < 0, 1.0, pi * one + (1 - pi) * zero)
            scores[:, atom] = np.log(cells).sum(axis=1)
        known += logsumexp(scores, axis=1) - np.log(len(content))
        return known

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model as one look under average conditions would record them."""
        check_is_fitted(self)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        rows = rng.integers(len(self.row_weights_), size=n_samples)
        expected = self._expected(self.row_weights_[rows])
        return (rng.random(expected.shape) < expected).astype(float)

    @staticmethod
    def _labelled(array: np.ndarray, X: Any, columns: Any) -> Any:
        if not isinstance(X, Looks):
            return OptimisedModel._labelled(array, X, columns)
        names = X.columns if columns is None else columns
        return Table(array, rows=X.rows, columns=names, name=X.name)
