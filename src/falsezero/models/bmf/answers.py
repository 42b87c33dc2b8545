"""Predictions of a fitted binary matrix factorization, averaged over its draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from falsezero.base.factor_model import checked_keep, spawn_seeds
from falsezero.base.sampled import SampledModel
from falsezero.data.blocks import Blocks
from falsezero.data.numbers import checked_count
from falsezero.data.table import Table
from falsezero.data.validate import check_room, check_table
from falsezero.data.values import check_dense
from falsezero.models.bmf.likelihoods import LIKELIHOODS, Likelihood
from falsezero.models.bmf.predict import (
    Draw,
    feature_prior,
    new_row_features,
    new_row_log_density,
    picture_order,
    row_chunks,
)
from falsezero.models.bmf.state import Cells

_NEW_ROW_DRAWS = 12
"""Draws over which predictions for new rows are averaged."""


class Prediction(NamedTuple):
    """Expected cells with an interval."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class PosteriorAnswers(SampledModel):
    """Answers from `draws_`, `representative_`, `offset_` and `scale_`."""

    observed_: np.ndarray | None = None
    """None also for models saved before weights were integrated out, which do not need it."""

    @property
    def _observation(self) -> Likelihood:
        return LIKELIHOODS[self.likelihood]

    def _table(self, X: Any, reset: bool) -> np.ndarray:
        kind = self.capabilities.table
        values: Any = check_table(self, X, kind=kind, binarize=self.binarize, reset=reset)
        if not sparse.issparse(values):
            return np.asarray(values)
        check_dense(values.shape, type(self).__name__, "fit a sample of the rows")
        return values.toarray()

    def transform(self, X: Any) -> Any:
        """Probability of each row feature in each row, of the training table or another."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        cells = self._standardised(table)
        weights = self._row_probability(self.representative_, cells)[0].astype(table.dtype)
        return self._row_table(weights, X)

    def _settle(self, blocks: Blocks) -> np.ndarray:
        """Row weights of a table that was cut into blocks."""
        table = blocks.dense_rows(np.arange(blocks.shape[0]))
        cells = self._standardised(table)
        return self._row_probability(self.representative_, cells)[0].astype(blocks.dtype)

    def _cells(self, X: Any) -> Cells:
        return self._standardised(self._table(X, reset=False))

    def _standardised(self, table: np.ndarray) -> Cells:
        """The table in the sampler's units; divided before subtracting, against overflow."""
        return Cells.of(table.astype(float) / self.scale_ - self.offset_ / self.scale_)

    def _row_probability(self, draw: Draw, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        return new_row_features(draw, cells, self._observation, self._feature_prior(draw))

    def _feature_prior(self, draw: Draw) -> np.ndarray:
        return feature_prior(draw, int(self.bias), self.n_row_features or 0, self.beta)

    def posterior_predict(
        self, X: Any = None, *, interval: float | None = None, random_state: Any = None
    ):
        """Expected value (probability, rate) of every cell, averaged over draws (section 3.4).

        For a Gaussian training table the weights of each draw are integrated out (with missing
        cells, only where a draw has at most 400 weights). For other likelihoods and for new rows
        the drawn weights are averaged over.

        Parameters
        ----------
        X : table, optional
            Rows to predict from their observed cells; by default the training table, whose missing
            cells are thereby imputed.
        interval : float, optional
            Probability of an interval for each cell, such as 0.9. For real numbers and counts the
            interval is for the value that would be observed, for zeros and ones for its
            probability.
        random_state : int, optional
            Seed of the noise in intervals.

        Returns
        -------
        array of shape (n_rows, n_columns), or a `Prediction` (mean, low, high) with `interval`
        """
        check_is_fitted(self)
        forecasts = self._forecasts(X)
        n_rows = len(forecasts[0].row_features)
        rng = np.random.default_rng(spawn_seeds(0 if random_state is None else random_state, 1)[0])
        parts = []
        for rows in row_chunks(n_rows, self.n_features_in_, len(forecasts)):
            predictors = [draw.expected_predictor(rows) for draw in forecasts]
            means = np.array([self._observation.mean(p) for p in predictors])
            part = [means.mean(axis=0)]
            if interval is not None:
                seen = means if self.likelihood == "logistic" else None
                if seen is None:
                    precisions = [draw.cell_precision(self.observed_, rows) for draw in forecasts]
                    pairs = zip(predictors, precisions, strict=True)
                    seen = np.array([self._observation.simulate(p, t, rng) for p, t in pairs])
                part += list(np.quantile(seen, [0.5 - interval / 2, 0.5 + interval / 2], axis=0))
            parts.append(part)
        whole = [
            np.concatenate(each) * self.scale_ + self.offset_ for each in zip(*parts, strict=True)
        ]
        return whole[0] if interval is None else Prediction(*whole)

    def _forecasts(self, X: Any) -> list[Draw]:
        """Draws with the row features of the training table, or of other rows."""
        if X is None:
            return self.draws_
        cells = self._cells(X)
        return [
            draw._replace(row_features=self._row_probability(draw, cells)[1], weight_mean=None)
            for draw in self._some_draws()
        ]

    def _some_draws(self) -> list[Draw]:
        """Draws from all chains, evenly spread."""
        spread = np.linspace(0, len(self.draws_) - 1, min(_NEW_ROW_DRAWS, len(self.draws_)))
        return [self.draws_[int(i)] for i in spread]

    def reconstruct(self, X: Any, keep: Any = None) -> Any:
        """The table as the model sees it, averaged over draws; or with some features removed.

        Parameters
        ----------
        X : Table, array, sparse array or data frame
        keep : array of shape (n_components,) or (n_rows, n_components), optional
            0 removes a row feature of the representative draw, 1 keeps it. Features add up, so the
            others are not renormalised.
        """
        check_room(self, X)
        if keep is None:
            expected = self.posterior_predict(X)
        else:
            check_is_fitted(self)
            weights = self.reweigh(
                self._row_probability(self.representative_, self._cells(X))[0], keep
            )
            expected = self._expected(weights)
        return self._labelled(expected, X, X.columns if isinstance(X, Table) else None)

    def reweigh(self, weights: np.ndarray, keep: Any = None) -> np.ndarray:
        """Row features times `keep`: a removed feature adds nothing."""
        return weights if keep is None else weights * checked_keep(keep, weights)

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        mean = self._observation.mean(weights @ self.components_)
        return mean * self.scale_ + self.offset_

    def log_predictive(self, X: Any) -> np.ndarray:
        """Log predictive density of cells of the training table, averaged over draws (section 3.4).

        Weights are integrated out as in `posterior_predict`.

        Parameters
        ----------
        X : table of the training table's shape
            Values of the cells in question, such as held-out ones; NaN elsewhere.

        Returns
        -------
        array of shape (n_rows, n_columns), NaN where X is
        """
        check_is_fitted(self)
        cells = self._cells(X)
        if cells.values.shape != (len(self.row_features_), self.n_features_in_):
            raise ValueError(
                f"log_predictive needs a table of the training shape "
                f"{(len(self.row_features_), self.n_features_in_)}, but X has shape "
                f"{cells.values.shape}; use score_samples for other rows."
            )
        parts = []
        n_rows, n_columns = cells.values.shape
        for rows in row_chunks(n_rows, n_columns, len(self.draws_)):
            few = Cells(cells.values[rows], cells.observed[rows])
            terms = [
                self._observation.log_likelihood(
                    few, draw.expected_predictor(rows), draw.cell_precision(self.observed_, rows)
                )
                for draw in self.draws_
            ]
            parts.append(logsumexp(terms, axis=0) - np.log(len(self.draws_)) - np.log(self.scale_))
        return np.where(cells.observed > 0, np.concatenate(parts), np.nan)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log predictive density of each row, taken as a new row.

        The row's features are summed out given each draw, and the densities of at most twelve draws
        are averaged; over all possible rows they sum to one. A new row is assumed to have no
        features beyond those of the training rows. Cells not observed are left out.
        """
        check_is_fitted(self)
        cells = self._cells(X)
        terms = [
            new_row_log_density(draw, cells, self._observation, self._feature_prior(draw))
            for draw in self._some_draws()
        ]
        units = cells.observed.sum(axis=1) * np.log(self.scale_)
        return logsumexp(terms, axis=0) - np.log(len(terms)) - units

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the posterior predictive distribution, each from a random draw."""
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        rows = [
            self._sampled_row(self.draws_[i], rng)
            for i in rng.integers(len(self.draws_), size=n_samples)
        ]
        return np.array(rows) * self.scale_ + self.offset_

    def _sampled_row(self, draw: Draw, rng: np.random.Generator) -> np.ndarray:
        prior = self._feature_prior(draw)
        predictor = (rng.random(len(prior)) < prior) @ draw.basis
        if self.n_row_features is None:
            n_new = rng.poisson(draw.row_concentration / (len(draw.row_features) + self.beta))
            shape = n_new, draw.weights.shape[1]
            new = self._observation.prior_weights(shape, draw.weight_scale, rng)
            predictor = predictor + new.sum(axis=0) @ draw.column_features.T
        return self._observation.simulate(predictor, draw.precision, rng)

    def picture_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of rows and of columns in which features are contiguous, for a picture (Fig. 5)."""
        check_is_fitted(self)
        return picture_order(self.row_features_), picture_order(self.column_features_)
