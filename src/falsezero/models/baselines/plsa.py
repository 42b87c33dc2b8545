"""Probabilistic latent semantic analysis: the aspect multinomial.

T. Hofmann, "Unsupervised learning by probabilistic latent semantic analysis", Machine Learning 42
(2001). Equation 28 for zeros and ones is that of Bingham et al. (2009). The fit is that of
non-negative matrix factorisation with the Kullback-Leibler divergence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from falsezero.base.bags import CompletesRows, log_orders
from falsezero.base.capabilities import Capabilities
from falsezero.base.criteria import InformationCriteria, sparse_block_rows
from falsezero.base.estimator import OptimisedModel, spawn_seeds
from falsezero.data.blocks import Block, Blocks
from falsezero.data.numbers import checked_count
from falsezero.data.table import Table
from falsezero.data.validate import check_room
from falsezero.inference.climb import RowTerms, climb_rows
from falsezero.inference.contract import Fit, Point
from falsezero.kernels.tokens import token_pass, token_surface
from falsezero.models.convex.family import NEARER, RowWeights

__all__ = ["PLSA"]

_TINY = 1e-30
_ATOM_CELLS = 20_000_000


class Aspects(NamedTuple):
    """The shared state: p(column | component), columns x components."""

    columns: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks: expected tokens of each column and component, over p(column | k)."""

    columns: np.ndarray
    log_likelihood: float


class TokenSteps:
    """EM over the tokens alone, with the row totals free (a Poisson likelihood).

    With rates u_nk >= 0 and a_tk summing to one over the columns t, x_nt is Poisson with mean
    sum_k u_nk a_tk; its maximum has u_nk = (row total) p(k|n), so this is PLSA, and row weights are
    rates divided by their sum. An unobserved cell is filled with its expected count, which is the
    E-step for a missing count, so the likelihood of the observed cells cannot fall.
    """

    state_params = {"columns": None}
    local_params = {"weights": None}

    def __init__(self, n_components: int, blocks: Blocks):
        self.n_components = n_components
        self.dtype = blocks.dtype

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Aspects, list[RowWeights]]:
        """Components around the column totals, equal rates around the row totals."""
        n_columns, k = blocks.shape[1], self.n_components
        total = blocks.column_counts[0] + 1.0 / n_columns
        columns = total[:, None] * rng.gamma(1.0, size=(n_columns, k)) + _TINY
        rates = [
            np.maximum(_totals(b)[:, None], 1e-3) * rng.dirichlet(np.full(k, 5.0), size=b.shape[0])
            for b in blocks
        ]
        local = [RowWeights(part.astype(self.dtype)) for part in rates]
        return Aspects((columns / columns.sum(axis=0)).astype(self.dtype)), local

    def local_step(
        self, block: Block, local: RowWeights, state: Aspects, rng: Any
    ) -> tuple[RowWeights, _Statistics]:
        """Share every token out over the components; new rates of the rows of a block."""
        # Column by column, what is touched at random are the rates of a block's few rows, which
        # stay in cache; row by row it would be the parameters of all columns.
        rates, columns, csc = local.weights, state.columns, block.csc
        row_stat, column_stat = np.zeros_like(rates), np.zeros_like(columns)
        log_likelihood = token_pass(
            csc.indptr, csc.indices, csc.data, columns, rates, column_stat, row_stat
        )
        expected = rates.sum(axis=1)
        if block.missing_csr is not None:
            missing = block.missing_csr.astype(self.dtype)
            unseen = np.asarray(missing @ columns)
            row_stat += unseen
            column_stat += np.asarray(missing.T @ rates)
            expected = expected - (rates * unseen).sum(axis=1)
        stats = _Statistics(column_stat, log_likelihood - float(expected.sum(dtype=float)))
        return RowWeights(rates * row_stat), stats

    def settle(self, block: Block, local: RowWeights, state: Aspects) -> RowWeights:
        """Rates at their maximum, components fixed: a concave problem of each row."""
        surface = _TokenSurface(block, state.columns.astype(float))
        return RowWeights(climb_rows(surface, local.weights).astype(self.dtype))

    def global_step(self, stats: _Statistics, state: Aspects, rng: Any) -> Aspects:
        """The share of a component's tokens that each column has."""
        tokens = state.columns * stats.columns
        total = tokens.sum(axis=0)
        # A component without tokens keeps what it has.
        new = np.divide(tokens, total, out=state.columns.copy(), where=total > _TINY)
        return Aspects(new)

    def objective(self, stats: _Statistics, state: Aspects) -> float:
        """Poisson log likelihood of the observed cells, without the factorials."""
        return stats.log_likelihood

    def project(self, trial: Point, reference: Point) -> Point:
        """Keep everything positive, and components summing to one."""
        columns = np.maximum(trial.state.columns, NEARER * reference.state.columns)
        rows = [
            RowWeights(np.maximum(t.weights, NEARER * r.weights))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(Aspects(columns / columns.sum(axis=0)), rows)


class _TokenSurface:
    """Poisson log likelihood of the observed cells of rows, given their rates."""

    def __init__(self, block: Block, columns: np.ndarray):
        self.csr, self.columns = block.csr, columns
        self.seen = np.tile(columns.sum(axis=0), (block.shape[0], 1))
        if block.missing_csr is not None:
            self.seen -= np.asarray(block.missing_csr.astype(float) @ columns)

    def __call__(self, rows: np.ndarray, rates: np.ndarray) -> RowTerms:
        k, seen = rates.shape[1], self.seen[rows]
        value, gradient = -(seen * rates).sum(axis=1), -seen
        packed = np.zeros((len(rows), k * (k + 1) // 2))
        csr = self.csr
        token_surface(
            rows, csr.indptr, csr.indices, csr.data, rates, self.columns, value, gradient, packed
        )
        return value, gradient, packed


def _totals(block: Block) -> np.ndarray:
    return np.asarray(block.values.sum(axis=1), dtype=float).ravel()


class PLSA(CompletesRows, InformationCriteria, OptimisedModel):
    """Topics of a table of counts (or ones): every token of a row has its own component.

    p(column t | row n) = sum_k p(k|n) p(t|k), with p(k|n) in `row_weights_` and p(t|k) in
    `components_`. Zeros are not explained, only not chosen: that is the difference from
    `AspectBernoulli`. Maximum likelihood by EM, over the tokens alone. New rows are folded in by
    `transform`.

    Parameters
    ----------
    n_components : int, default=5
        Number of components (topics).
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init, acceleration, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        p(column | component), each row summing to one; most frequent component first.
    row_weights_ : array of shape (n_rows, n_components)
        p(component | row) of the training rows.
    log_likelihood_ : float
        Multinomial log likelihood of the training table, sum of x log p(column | row), without the
        multinomial coefficient.
    is_binary_ : bool
        Whether the training table held zeros and ones only; see `reconstruct`.
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[4, 2, 0, 0], [2, 1, 0, 0], [0, 0, 3, 3], [0, 0, 1, 1]])
    >>> model = PLSA(n_components=2, random_state=0).fit(counts)
    >>> np.sort(model.components_.max(axis=1)).round(2)
    array([0.5 , 0.67])
    """

    capabilities = Capabilities(
        table="weight",
        link=None,
        row_score="bag",
        completes_rows=True,
        sample_size="cells",
        sparse=True,
        distributed=True,
    )
    _parameter_constraints = {**OptimisedModel._parameter_constraints}
    del _parameter_constraints["binarize"]

    def __init__(
        self,
        n_components: int = 5,
        *,
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 1,
        acceleration: str | None = "squarem",
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> TokenSteps:
        return TokenSteps(self.n_components, blocks)

    def _block_rows(self, values: Any) -> int | None:
        return sparse_block_rows(values)

    def _start_rows(self, blocks: Blocks) -> Point:
        columns = np.ascontiguousarray(self.components_.T, dtype=blocks.dtype)
        return Point(Aspects(columns), self._fresh_rows(blocks))

    def _fresh_rows(self, blocks: Blocks) -> list[Any]:
        shares = np.full(self.n_components, 1.0 / self.n_components)
        return [RowWeights(np.outer(_totals(b), shares).astype(blocks.dtype)) for b in blocks]

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        rates = np.concatenate([part.weights for part in fit.local])
        order = np.argsort(-rates.sum(axis=0), kind="stable")
        self.components_ = np.ascontiguousarray(fit.state.columns.T[order])
        self.row_weights_ = _shares(rates[:, order])
        self.row_totals_ = np.concatenate([_totals(b) for b in blocks])
        self.log_likelihood_ = self._log_likelihood(blocks)
        self.is_binary_ = all((b.csr.data == 1).all() for b in blocks)
        self.n_observed_ = blocks.n_observed

    def _log_likelihood(self, blocks: Blocks) -> float:
        total, columns = 0.0, np.ascontiguousarray(self.components_.T)
        for block in blocks:
            weights, csr = self.row_weights_[block.rows], block.csr
            spare = np.zeros_like(weights), np.zeros_like(columns)
            total += token_pass(csr.indptr, csr.indices, csr.data, weights, columns, *spare)
            total -= float(_totals(block) @ np.log(self._seen(block, weights)))
        return total

    def _seen(self, block: Block, weights: np.ndarray) -> np.ndarray:
        """The part of each row's probability that lies in its observed columns."""
        if block.missing_csr is None:
            return np.ones(block.shape[0])
        unseen = np.asarray(block.missing_csr.astype(float) @ self.components_.T)
        seen: np.ndarray = np.maximum(1 - (weights * unseen).sum(axis=1), _TINY)
        return seen

    def _weights(self, local: RowWeights) -> np.ndarray:
        return _shares(local.weights)

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        expected: np.ndarray = weights @ self.components_
        return expected

    def reconstruct(self, X: Any, keep: Any = None) -> Any:
        """The table as the model sees it.

        For a model fitted to counts, the expected counts L p(t|n), with L the row's total (scaled
        up where part of the row was not observed). For a model fitted to zeros and ones, the
        probability that a column appears at least once among L tokens, 1 - (1 - p(t|n))^L
        (Bingham et al., eq. 28).
        """
        check_room(self, X)
        blocks = self._blocks(X, reset=False)
        settled = self._settle(blocks)
        lengths = np.concatenate([_totals(b) / self._seen(b, settled[b.rows]) for b in blocks])
        p = self._expected(self.reweigh(settled, keep))
        if self.is_binary_:
            p = np.minimum(p, 1 - np.finfo(p.dtype).eps)
            table = -np.expm1(lengths[:, None] * np.log1p(-p))
        else:
            table = lengths[:, None] * p
        return self._labelled(table, X, X.columns if isinstance(X, Table) else None)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log probability of each row's counts given their total, by empirical Bayes.

        log of the mean over training rows of L! prod_t p(t|n)^x_t / x_t!: the row's weights are
        integrated over those of the training rows (a fixed draw of at most 2000, fewer for very
        wide tables). Not comparable with models of zeros and ones, which also explain the zeros.
        """
        check_room(self, X)
        blocks = self._blocks(X, reset=False)
        weights = self.row_weights_
        number = min(len(weights), 2000, max(50, _ATOM_CELLS // self.components_.shape[1]))
        if number < len(weights):
            weights = weights[np.random.default_rng(0).choice(len(weights), number, replace=False)]
        atoms = np.maximum(self._expected(weights), 1e-12)
        log_atoms = np.log(atoms)
        scores = []
        for block in blocks:
            log_p = np.asarray(block.csr @ log_atoms.T)
            if block.missing_csr is not None:
                seen = 1 - np.asarray(block.missing_csr.astype(float) @ atoms.T)
                log_p -= _totals(block)[:, None] * np.log(np.maximum(seen, 1e-12))
            scores.append(logsumexp(log_p, axis=1) - np.log(number) + log_orders(block.csr))
        return np.concatenate(scores)

    def cell_causes(self, block: Block, weights: np.ndarray) -> np.ndarray:
        """p(component | row, column) for every cell of a block, whatever its value.

        Returns
        -------
        array of shape (n_components, n_rows, n_columns)
        """
        joint = weights.T[:, :, None] * self.components_[:, None, :]
        causes: np.ndarray = joint / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)
        return causes

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit, K (T - 1) + (K - 1) N."""
        k, n_columns = self.components_.shape
        return k * (n_columns - 1) + (k - 1) * len(self.row_weights_)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows of counts: weights and totals are those of training rows drawn at random."""
        check_is_fitted(self)
        n_samples = checked_count(n_samples, "n_samples")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(spawn_seeds(seed, 1)[0])
        rows = rng.integers(len(self.row_weights_), size=n_samples)
        p = self._expected(self.row_weights_[rows]).astype(float)
        totals = self.row_totals_[rows].astype(int)
        return rng.multinomial(totals, p / p.sum(axis=1, keepdims=True)).astype(float)


def _shares(rates: np.ndarray) -> np.ndarray:
    """Rates divided by their sum; equal shares for a row without tokens."""
    total = rates.sum(axis=1, keepdims=True)
    equal = np.full_like(rates, 1.0 / rates.shape[1])
    shares: np.ndarray = np.divide(rates, total, out=equal, where=total > _TINY)
    return shares
