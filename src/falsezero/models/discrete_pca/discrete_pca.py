"""Discrete PCA: topic models and count factorisation "done right statistically", in one class.

W. Buntine, "Discrete Principal Components Analysis", slides of the workshop on Subspace, Latent
Structure and Feature Selection, Bohinj, 2005. His documents i are our rows, his words j our
columns. Slides are cited by their titles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.backends import workers
from falsezero.base._sklearn import fit_context
from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import Interval, StrOptions, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.data.shards import Shards
from falsezero.data.validate import check_table
from falsezero.inference.contract import Fit, Steps
from falsezero.models.discrete_pca.collapsed import GroupCollapsedSteps
from falsezero.models.discrete_pca.family import Family, Hyper, read_family
from falsezero.models.discrete_pca.gibbs import DirectGibbsSteps, RowCollapsedSteps
from falsezero.models.discrete_pca.mean_field import EMSteps, MeanFieldSteps
from falsezero.models.discrete_pca.posterior import Posterior
from falsezero.models.discrete_pca.sampling import is_marginalised, run_chain
from falsezero.models.discrete_pca.settings import (
    check_counts,
    default_alpha,
    per_component,
    priors_to_learn,
    warn_of_no_effect,
)
from falsezero.models.discrete_pca.uses import CountModel

__all__ = ["DiscretePCA"]

_SAMPLERS = ("gibbs", "collapsed_gibbs")


class DiscretePCA(CountModel):
    """Topics of counts: gamma-Poisson, Dirichlet-multinomial (LDA) and grouped counts.

    Every row mixes components, every token (one unit of a count) comes from one of them: with
    l_k ~ Gamma(alpha_k, beta_k) and theta_k a distribution over the columns of each group,

    - "gamma-poisson" (GaP): w_j ~ Poisson(sum_k l_k theta_jk);
    - "dirichlet-multinomial" (LDA, MPCA): m = l / sum l ~ Dirichlet(alpha) and each group of
      columns is Multinomial(sum_k m_k theta_jk, L_g);
    - "gamma-multinomial": one group may be Poisson with l, all others multinomial with m, and the
      beta_k may differ.

    NaN is refused: without one of its cells, a multinomial count is no longer multinomial.

    Parameters
    ----------
    n_components : int, default=10
    family : {"dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"}
    groups : sequence, mapping or None
        One group name per column (or a mapping from columns to groups). In "gamma-multinomial" the
        group "poisson" is the Poisson block. None puts all columns into one group.
    inference : {"em", "mean_field", "gibbs", "collapsed_gibbs"}
        "em" (the default) finds the joint mode of weights and Theta. Its components are nearly as
        good as those of "collapsed_gibbs", which draws v with the rest marginalised, in a fraction
        of the time.
        "mean_field" maximises a bound on the evidence and can learn the priors, "gibbs" draws
        (l, v, Theta) in turn. Samplers report means over the kept draws, not the last one.
    collapse : {"all", "weights"}, default="all"
        What "collapsed_gibbs" marginalises: weights and Theta, or the weights only (rows are then
        sampled side by side without approximation).
    alpha : float, array or None
        Prior tokens of each component in a row; None stands for 50 / n_components, at most 0.5 (the
        slides' value) or, for "em", 0.1, and for the gammas' shape 0.5.
    beta : float, array or None
        Rate of the gammas; with None the prior expects rows of the mean length.
    eta : float, default=0.05
        Prior tokens of each column in a component (Dirichlet prior of Theta).
    learn_alpha, learn_beta : bool or None
        Whether to learn the priors: by maximising the bound, or during the warm-up of a sampler.
        None is True for `beta` of gammas that was not given, else False.
    inner_iter : int, default=1
        Mean field and EM: passes over the rows before Theta moves. 1 is the slides' mean field,
        many is "with inner loop convergence".
    inner_cycles : {"every", "first"}, default="every"
        Whether the inner loop is run in every cycle, or in the first one only (as in the slides'
        comparison).
    warmup, n_draws, thin : int
        The length of a sampler's chain: sweeps before anything is kept, how many draws are kept,
        and how far apart. `max_iter` and `tol` are for mean field and EM.
    n_shards : int or None, default=None
        "collapsed_gibbs": 1 is exact; several are sampled side by side on `n_jobs` threads, each
        seeing the others' totals at the end of a phase. The answer depends on the number of shards,
        not of threads. None means one per thread. In a table in files (`Shards`) every file is a
        shard, which sees the others' counts at the end of a sweep, on any number of workers
        (`falsezero.on_dask`).
    learning_offset, learning_decay, total_samples
        `partial_fit`: step t has weight (learning_offset + t)^-learning_decay, and a batch stands
        for `total_samples` rows.
    max_iter, tol, n_init
        Mean field and EM: when to stop, and random starts (samplers: chains; the one with the
        highest mean log joint probability is reported, diagnostics see all).
    n_jobs, random_state, verbose, callback, checkpoint
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Theta, normalised within each group; components are ordered by their weight, largest first.
    row_weights_ : array of shape (n_rows, n_components)
        Expected m (or l) of the training rows.
    alpha_, beta_ : arrays of shape (n_components,)
    objective_ : float
        The bound, the log joint mode, or the mean log joint probability of the kept draws.
    word_shape_, n_batches_ : array of shape (n_columns, n_components), int
        Mean field and EM: expected counts by word, including the prior's, and the number of batches
        that `partial_fit` has seen.
    chains_ : list of dict
        Samplers: the quantities that diagnostics need, for each kept draw of each chain.
    history_, converged_, n_iter_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> theta = np.repeat(np.eye(2), 5, axis=1) / 5
    >>> counts = rng.poisson(30 * rng.dirichlet([0.3, 0.3], size=40) @ theta)
    >>> model = DiscretePCA(2, alpha=0.3, random_state=0).fit(counts)
    >>> bool((model.components_.max(axis=0) > 0.1).all())
    True
    """

    _parameter_constraints = {
        **CountModel._parameter_constraints,
        "family": [StrOptions({"dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"})],
        "groups": ["array-like", dict, None],
        "inference": [StrOptions({"mean_field", "em", *_SAMPLERS})],
        "collapse": [StrOptions({"all", "weights"})],
        "alpha": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "beta": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "learn_alpha": ["boolean", None],
        "learn_beta": ["boolean", None],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
        "inner_cycles": [StrOptions({"every", "first"})],
        "warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "n_shards": [Interval(Integral, 1, None, closed="left"), None],
        "learning_offset": [Interval(Real, 1, None, closed="left")],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
    }
    del _parameter_constraints["binarize"]

    def __init__(
        self,
        n_components: int = 10,
        *,
        family: str = "dirichlet-multinomial",
        groups: Any = None,
        inference: str = "em",
        collapse: str = "all",
        alpha: Any = None,
        beta: Any = None,
        eta: float = 0.05,
        learn_alpha: bool | None = None,
        learn_beta: bool | None = None,
        inner_iter: int = 1,
        inner_cycles: str = "every",
        warmup: int = 200,
        n_draws: int = 20,
        thin: int = 5,
        n_shards: int | None = None,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        total_samples: float = 1e6,
        max_iter: int = 300,
        tol: float = 1e-5,
        n_init: int = 1,
        acceleration: str | None = None,
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.family = family
        self.groups = groups
        self.inference = inference
        self.collapse = collapse
        self.alpha = alpha
        self.beta = beta
        self.eta = eta
        self.learn_alpha = learn_alpha
        self.learn_beta = learn_beta
        self.inner_iter = inner_iter
        self.inner_cycles = inner_cycles
        self.warmup = warmup
        self.n_draws = n_draws
        self.thin = thin
        self.n_shards = n_shards
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.total_samples = total_samples
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_components(
        cls, components: Any, *, alpha: Any = None, beta: Any = 1.0, **params: Any
    ) -> DiscretePCA:
        """A model with known components, for instance from another library.

        >>> model = DiscretePCA.from_components([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], alpha=0.1)
        >>> model.transform([[3, 2, 0]]).round(1)
        array([[1., 0.]])
        """
        components = np.asarray(components, dtype=float)
        model = cls(len(components), alpha=alpha, beta=beta, **params)
        model.n_features_in_ = components.shape[1]
        model.family_ = model._family(components.shape[1])
        theta = model.family_.normalise(np.maximum(components.T, 1e-100))
        model.components_ = np.ascontiguousarray(theta.T)
        start = default_alpha(model.family_, model.inference, len(components))
        model.alpha_ = per_component("alpha", start if alpha is None else alpha, len(components))
        model.beta_ = per_component("beta", beta, len(components))
        return model

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """Rows in several groups of columns are judged given the total of each group."""
        groups = self.groups.values() if isinstance(self.groups, Mapping) else self.groups
        several = groups is not None and len({str(group) for group in groups}) > 1
        in_parts = self.inference not in _SAMPLERS or is_marginalised(self)
        declared = replace(CountModel.capabilities, distributed=in_parts)
        return replace(declared, row_score="bag by group") if several else declared

    # -- the table ------------------------------------------------------------------------------

    def _blocks(self, X: Any, reset: bool) -> Blocks:
        """Sparse counts in blocks of many rows: every block's statistics are as large as Theta."""
        if isinstance(X, Shards) and self.capabilities.distributed:
            return super()._blocks(X, reset)
        values = sparse.csr_array(check_table(self, X, kind=self.capabilities.table, reset=reset))
        values.sort_indices()
        sampler = self.inference if self.inference in _SAMPLERS else None
        check_counts(values.data, type(self).__name__, sampler)
        is_one = reset and self.inference == "collapsed_gibbs" and self.collapse == "all"
        n_blocks = 1 if is_one else int(np.clip(values.nnz // (4 * values.shape[1]), 1, 8))
        return Blocks.cut(values, block_rows=-(-values.shape[0] // n_blocks))

    def _family(self, n_columns: int) -> Family:
        names = getattr(self, "feature_names_in_", None)
        return read_family(self.family, self.groups, n_columns, names)

    def _priors(self, family: Family, blocks: Blocks) -> Hyper:
        """alpha and beta as given, or as a start."""
        k = self.n_components
        start = default_alpha(family, self.inference, k) if self.alpha is None else self.alpha
        alpha = per_component("alpha", start, k)
        counted = family.poisson if family.poisson.any() else slice(None)
        length = max(float(blocks.column_counts[0][counted].sum()) / blocks.shape[0], 1e-3)
        beta = alpha.sum() / length if self.beta is None else self.beta
        return Hyper(alpha, per_component("beta", beta, k))

    # -- fitting --------------------------------------------------------------------------------

    def _steps(self, blocks: Blocks) -> Steps:
        family = self._family(blocks.shape[1])
        hyper, learn = self._priors(family, blocks), priors_to_learn(self, family)
        if self.inference in ("mean_field", "em"):
            first_only = self.inner_cycles == "first"
            return self._ascent(family, blocks, hyper, self.eta, self.inner_iter, learn, first_only)
        kind: type[DirectGibbsSteps] = DirectGibbsSteps
        if self.inference == "collapsed_gibbs":
            kind = RowCollapsedSteps if self.collapse == "weights" else GroupCollapsedSteps
        return kind(family, blocks, hyper, self.eta, self.warmup, learn)

    @property
    def _ascent(self) -> type[MeanFieldSteps]:
        return MeanFieldSteps if self.inference == "mean_field" else EMSteps

    def _optimise(self, blocks: Blocks) -> Fit:
        warn_of_no_effect(self)
        if self.inference not in _SAMPLERS:
            return super()._optimise(blocks)
        if self.checkpoint is not None:
            raise ValueError(
                f'checkpoint= is for inference="mean_field" and "em"; inference="{self.inference}" '
                "cannot be resumed."
            )
        fitted = [run_chain(self, blocks, seed) for seed in self._seeds()]
        self.chains_ = [posterior.trace(history) for posterior, history in fitted]
        means = [float(np.mean(chain["log_joint"])) for chain in self.chains_]
        best = int(np.argmax(means))
        posterior, history = fitted[best]
        return Fit(posterior, [], means[best], history, True, len(history))

    def _seeds(self) -> list[np.random.SeedSequence]:
        return spawn_seeds(self.random_state, self.n_init)

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        self.family_ = self._family(blocks.shape[1])
        if isinstance(fit.state, Posterior):
            theta, weights, hyper = fit.state.components, fit.state.row_weights, fit.state.hyper
        else:
            theta = self.family_.normalise(fit.state.shape)
            weights = np.concatenate([self._weights(part) for part in fit.local])
            hyper = fit.state.hyper
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        self.components_ = np.ascontiguousarray(theta.T[order])
        self.row_weights_ = weights[:, order]
        self.alpha_, self.beta_ = hyper.alpha[order], hyper.beta[order]
        # Remove what an earlier fit by another inference may have left.
        for name in ("word_shape_", "n_batches_"):
            self.__dict__.pop(name, None)
        if self.inference not in _SAMPLERS:
            self.__dict__.pop("chains_", None)
            self.word_shape_, self.n_batches_ = fit.state.shape[:, order], 0

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Learn from one batch of rows: stochastic mean field (Hoffman, Blei and Bach, 2010) or EM.

        Expected counts move towards what they would be if `total_samples` rows were like the batch,
        by ``(learning_offset + t) ** -learning_decay`` of the way at step t. Priors stay as given.
        """
        if self.inference in _SAMPLERS:
            raise ValueError(
                f'partial_fit needs inference="em" or "mean_field", not "{self.inference}".'
            )
        begun = "word_shape_" in vars(self)
        blocks = self._blocks(X, reset=not begun)
        self.family_ = self._family(blocks.shape[1])
        hyper = self._hyper if begun else self._priors(self.family_, blocks)
        steps = self._ascent(self.family_, blocks, hyper, self.eta, inner=100)
        if not begun:
            state, _ = steps.init(blocks, np.random.default_rng(self._seeds()[0]))
            self.word_shape_, self.n_batches_ = state.shape, 0
            self.alpha_, self.beta_ = hyper
        self.word_shape_ = self._towards(steps, blocks, hyper)
        self.n_batches_ += 1
        self.components_ = np.ascontiguousarray(self.family_.normalise(self.word_shape_).T)
        return self

    def _towards(self, steps: MeanFieldSteps, blocks: Blocks, hyper: Hyper) -> np.ndarray:
        """The shapes of q(Theta) after one batch."""
        state = steps.read_words(self.word_shape_, hyper)
        with workers(self.n_jobs, len(blocks)) as run:
            pairs = run(
                lambda b: steps.local_step(b, steps.start_rows(b, hyper), state, None), blocks
            )
        words = sum(stats.words for _, stats in pairs) * state.factors
        target = self.eta + words * (self.total_samples / blocks.shape[0])
        stride = (self.learning_offset + self.n_batches_) ** -self.learning_decay
        shape: np.ndarray = (1 - stride) * self.word_shape_ + stride * target
        return shape.astype(blocks.dtype)
