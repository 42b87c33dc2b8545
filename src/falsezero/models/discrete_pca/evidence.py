"""Estimates of likelihood and evidence: of a row, of further tokens in it, of the whole table.

The slides estimate all three by the harmonic mean of likelihoods over Gibbs draws (slide
"Estimating a good number of components"), which is unstable because it depends only on where the
posterior goes. Better estimators are offered beside it: the left-to-right sampler and importance
sampling for a row, annealed importance sampling for a whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn.base import clone

from falsezero.base.estimator import spawn_seeds
from falsezero.base.evidence import Evidence
from falsezero.data.blocks import Blocks
from falsezero.data.tidy import Tidy
from falsezero.inference.chains import sample
from falsezero.kernels.topics import left_to_right, sweep_rows_collapsed
from falsezero.models.discrete_pca.collapsed import CollapsedSteps, log_words
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.gibbs import DirectGibbsSteps, Drawn, Tokens, random_state_of
from falsezero.models.discrete_pca.lengths import TokenPrior, has_one_rate, log_length
from falsezero.models.discrete_pca.row_likelihood import log_given, row_constants, row_importance
from falsezero.models.discrete_pca.uses import CountModel

__all__ = ["compare_components", "log_what_if", "row_log_likelihood", "table_evidence"]


def _rng(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(spawn_seeds(random_state, 1)[0])


def _whole(model: Any, X: Any, reset: bool = False) -> sparse.csr_array:
    """The counts of a table, checked, as one sparse array."""
    if not isinstance(model, CountModel):
        raise TypeError(
            f"These estimators know the priors of DiscretePCA only; {type(model).__name__} has "
            "score_samples for rows, and select(criterion='cells') for single cells."
        )
    blocks = model._blocks(X, reset=reset)
    return sparse.csr_array(sparse.vstack([b.csr for b in blocks], format="csr"))


def _row_draws(
    model: Any, values: sparse.csr_array, n_draws: int, rng: np.random.Generator, warmup: int = 50
) -> Iterator[np.ndarray]:
    """Draws of l (or m) from each row's posterior under the learnt Theta, by direct Gibbs."""
    blocks = Blocks.cut(values, block_rows=max(values.shape[0], 1))
    steps = DirectGibbsSteps(model.family_, blocks, Hyper(model.alpha_, model.beta_), 1.0)
    theta = np.maximum(np.ascontiguousarray(model.components_.T, dtype=float), 1e-100)
    state = Drawn(theta, np.zeros_like(theta), steps.hyper, 0)
    rows = steps.start_rows(blocks[0], rng)
    for i in range(warmup + n_draws):
        rows, _ = steps.local_step(blocks[0], rows, state, rng)
        if i >= warmup:
            yield rows.weights


def row_log_likelihood(
    model: Any,
    X: Any,
    method: str = "importance",
    n_draws: int = 200,
    random_state: Any = 0,
) -> np.ndarray:
    """log p(w | Theta, alpha, beta) of each row, its weights integrated out.

    Parameters
    ----------
    model : fitted DiscretePCA
    X : table of counts
    method : {"importance", "left_to_right", "harmonic"}
        "importance" draws weights from a widened mean-field posterior and is unbiased for every
        model; "left_to_right" (Wallach et al., 2009; "dirichlet-multinomial" only) predicts each
        token from those before it; "harmonic" is the slides' estimator, for comparison only: it is
        usually too high.
    n_draws : int
        Draws of weights per row, or particles of the left-to-right sampler.
    random_state : int, Generator, RandomState or None
    """
    values = _whole(model, X)
    rng = _rng(random_state)
    if method == "importance":
        return row_importance(model._known, values, n_draws, int(rng.integers(2**31)))
    if method == "harmonic":
        draws = _row_draws(model, values, n_draws, rng)
        logs = np.stack([log_given(model._known, values, weights) for weights in draws])
        return np.log(n_draws) - logsumexp(-logs, axis=0)
    if method != "left_to_right":
        raise ValueError(
            f'method={method!r} is unknown; choose "importance", "left_to_right" or "harmonic".'
        )
    if model.family_.gamma:
        raise ValueError(
            'method="left_to_right" is for family="dirichlet-multinomial"; choose "importance".'
        )
    return _left_to_right(model, values, n_draws, rng)


def _left_to_right(
    model: Any, values: sparse.csr_array, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    tokens = Tokens.of(values)
    theta = np.ascontiguousarray(model.components_.T, dtype=float)
    state = random_state_of(rng)
    found = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        words = rng.permutation(tokens.words[tokens.row_ptr[i] : tokens.row_ptr[i + 1]])
        found[i] = left_to_right(words, theta, model.alpha_, n_draws, state)
    return found + row_constants(model.family_, values)


def log_what_if(
    model: Any, X: Any, more: Any, n_draws: int = 200, random_state: Any = 0
) -> np.ndarray:
    """log p(w+ | w) of each row: how probable are these further tokens, given those it has?

    The mean of p(w+ | l) over draws of l given w (slide "Algorithm Issues, cont."). In a Poisson
    block w+ is a second look of the same length.

    Parameters
    ----------
    model : fitted DiscretePCA
    X : table of counts
        The tokens that each row has.
    more : table of the same shape
        The further tokens.
    n_draws : int, default=200
        Draws of weights per row.
    random_state : int, Generator, RandomState or None
    """
    values = _whole(model, X)
    further = _whole(model, more)
    if values.shape != further.shape:
        raise ValueError(
            f"more= needs the rows and columns of X {values.shape}, but has shape {further.shape}."
        )
    draws = _row_draws(model, values, n_draws, _rng(random_state))
    logs = np.stack([log_given(model._known, further, weights) for weights in draws])
    return logsumexp(logs, axis=0) - np.log(n_draws)


def table_evidence(
    model: Any,
    X: Any,
    method: str = "annealed",
    n_steps: int = 500,
    n_chains: int = 4,
    random_state: Any = 0,
) -> Evidence:
    """log p(w_1, ..., w_I | alpha, beta, K) of a whole table, Theta and all weights integrated out.

    Parameters
    ----------
    model : DiscretePCA, fitted or not
        Its settings are evaluated; of a fit only `alpha_` and `beta_` are used.
    X : table of counts
    method : {"annealed", "reverse", "harmonic"}
        "annealed" importance sampling (Neal, 2001) goes from the prior of v to its posterior in
        `n_steps` sweeps per chain; its mean is unbiased on the natural scale, so its log errs on
        the low side. "reverse" goes from the posterior back to the prior and errs on the high side
        (Grosse, Ghahramani and Adams, 2015), provided that its start, a forward run and some more
        sweeps, has reached the posterior. Both together bracket the evidence: a gap far wider than
        their errors says that `n_steps` is too small. "harmonic" is the slides' estimator, over
        `n_steps` draws of the collapsed sampler after a warm-up of the same length; it is not
        available for the general "gamma-multinomial".
    n_steps, n_chains : int
        Sweeps of a chain, and chains; longer chains are worth more than many.
    random_state : int, Generator, RandomState or None
    """
    fitted = "alpha_" in vars(model)
    # Checking the table sets names and the number of columns, which must not look like a fit.
    model = model if fitted else clone(model)
    values = _whole(model, X, reset=not fitted)
    blocks = Blocks.cut(values, block_rows=values.shape[0])
    family = model._family(blocks.shape[1])
    hyper = Hyper(model.alpha_, model.beta_) if fitted else model._priors(family, blocks)
    if method == "harmonic" and _is_general(family):
        raise ValueError(
            'method="harmonic" needs family="dirichlet-multinomial" or "gamma-poisson"; choose '
            '"annealed".'
        )
    steps = CollapsedSteps(family, blocks, hyper, model.eta)
    seeds = spawn_seeds(random_state, n_chains)
    if method == "harmonic":
        logs = [_harmonic(steps, blocks, seed, n_steps) for seed in seeds]
    elif method in ("annealed", "reverse"):
        rest, way = _log_lengths(steps, values) + steps.constant, _tempers(n_steps, method)
        logs = [rest + _anneal(steps, blocks, np.random.default_rng(s), *way) for s in seeds]
    else:
        raise ValueError(
            f'method={method!r} is unknown; choose "annealed", "reverse" or "harmonic".'
        )
    # In reverse, the mean of the inverse weights is unbiased.
    sign = -1 if method == "reverse" else 1
    mean = float(sign * (logsumexp(sign * np.asarray(logs)) - np.log(n_chains)))
    spread = float(np.std(logs, ddof=1) / np.sqrt(n_chains)) if n_chains > 1 else np.inf
    return Evidence(mean, spread, np.array(logs))


def _is_general(family: Family) -> bool:
    """Whether gammas are divided by their sum in some group, so that no closed marginal exists."""
    return family.gamma and not bool(family.poisson.all())


def _log_lengths(steps: CollapsedSteps, values: sparse.csr_array) -> float:
    """log p(L_1) L_1! of all rows: the term for the number of tokens in a Poisson block."""
    if not steps.family.poisson.any():
        return 0.0
    tokens = steps.tokens - steps.family.lengths(values)
    return float((log_length(steps.hyper, tokens) + gammaln(tokens + 1.0)).sum())


def _tempers(n_steps: int, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Powers of p(w | v): those that lead a chain to its start, and those that enter its weight."""
    rising = np.linspace(0, 1, n_steps + 1) ** 2
    if method == "annealed":
        return rising[:1], rising
    return np.append(rising, np.ones(max(n_steps // 2, 50))), rising[::-1]


def _anneal(
    steps: CollapsedSteps,
    blocks: Blocks,
    rng: np.random.Generator,
    led: np.ndarray,
    weighed: np.ndarray,
) -> float:
    """log p(w) by one annealing run from p(v) to p(v | w), or back."""
    family, alpha, eta = steps.family, steps.hyper.alpha, steps.eta
    tokens = Tokens.of(blocks[0].csr)
    rows = np.repeat(np.arange(blocks.shape[0]), np.diff(tokens.row_ptr))
    lengths = family.lengths(blocks[0].csr)
    z, u = _prior_draw(steps, rng, rows, family.poisson[tokens.words], lengths)
    counts, words = (np.zeros((n, len(alpha))) for n in blocks.shape)
    np.add.at(counts, (rows, z), 1)
    np.add.at(words, (tokens.words, z), 1)
    totals, spread = family.group_sums(words), eta * family.sizes
    stream = random_state_of(rng)
    way = np.concatenate([led, weighed[1:]])
    gains = np.append(np.zeros(len(led) - 1), np.abs(np.diff(weighed)))
    log_weight = 0.0
    for temper, gain in zip(way[1:], gains, strict=True):
        log_weight += gain * log_words(family, eta, words, totals)
        if _is_general(family):
            u = _drawn_totals(steps, counts, lengths, u, rng)
        sweep_rows_collapsed(
            tokens.row_ptr, tokens.words, z, counts, alpha, _row_scale(steps, u), words, totals,
            family.groups, eta, spread, temper, stream,
        )  # fmt: skip
    return log_weight


def _row_scale(steps: CollapsedSteps, u: np.ndarray) -> np.ndarray:
    """1 / (delta_P + beta_k + u_i), rows x components; ones for a Dirichlet."""
    return 1 / (1 / steps.scale(steps.hyper) + u[:, None])


def _drawn_totals(
    steps: CollapsedSteps,
    counts: np.ndarray,
    lengths: np.ndarray,
    u: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Redraw u of each row, which stands for the sum of weights in multinomial groups.

    (sum_k l_k)^-L = int u^(L-1) exp(-u sum_k l_k) du / Gamma(L), so that given u the weights are
    gammas again and integrate out as in the Poisson block, their rates raised by u.
    """
    weights = rng.standard_gamma(steps.hyper.alpha + counts) * _row_scale(steps, u)
    return rng.standard_gamma(lengths) / np.maximum(weights.sum(axis=1), 1e-300)


def _prior_draw(
    steps: CollapsedSteps,
    rng: np.random.Generator,
    rows: np.ndarray,
    is_poisson: np.ndarray,
    lengths: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Components of all tokens, and u of all rows, from the prior given the rows' token counts.

    `rows` and `is_poisson` are those of each token, `lengths` the tokens of each row that are in
    multinomial groups. Tokens of a Poisson block are drawn first, because they inform the weights.
    """
    alpha, n_rows, z = steps.hyper.alpha, len(lengths), np.empty(len(rows), np.int32)
    own = rows[is_poisson]
    shape = np.tile(alpha, (n_rows, 1))
    if len(own) and (_is_general(steps.family) or not has_one_rate(steps.hyper)):
        tokens = np.bincount(own, minlength=n_rows)
        drawn = TokenPrior(steps.hyper, int(tokens.max())).draw(tokens, rng)
        dealt = [rng.permutation(np.repeat(np.arange(len(alpha)), counts)) for counts in drawn]
        z[is_poisson] = np.concatenate(dealt)
        shape = shape + drawn
        is_left = ~is_poisson
    else:
        is_left = np.ones(len(rows), bool)
    weights = rng.standard_gamma(shape) * steps.scale(steps.hyper) + 1e-300
    totals = weights.sum(axis=1)
    shares = np.cumsum(weights / totals[:, None], axis=1)
    beyond = rng.random(is_left.sum())[:, None] > shares[rows[is_left]]
    z[is_left] = np.minimum(beyond.sum(axis=1), len(alpha) - 1)
    return z, rng.standard_gamma(lengths) / totals if _is_general(steps.family) else 0 * totals


def _harmonic(
    steps: CollapsedSteps, blocks: Blocks, seed: np.random.SeedSequence, n_steps: int
) -> float:
    """N / sum_n 1 / p(w | v_n) over draws of v from the posterior (slide on K)."""
    (chain,) = sample(
        steps,
        blocks,
        [seed],
        warmup=n_steps,
        draws=n_steps,
        record=lambda point: steps.log_words(point.state),
    )
    lengths = _log_lengths(steps, blocks[0].csr)
    return steps.constant + lengths + np.log(n_steps) - float(logsumexp(-np.asarray(chain.draws)))


def compare_components(
    model: Any, X: Any, n_components: Any, method: str = "annealed", **options: Any
) -> Tidy:
    """The evidence for each number of components, one row each; the largest is best supported.

    Parameters
    ----------
    model : DiscretePCA
        With the settings that all candidates share.
    X : table of counts
    n_components : iterable of int
        The candidates.
    method, **options
        As in `falsezero.log_evidence`.

    Returns
    -------
    Tidy with columns n_components, log_evidence, error
    """
    found = []
    for k in n_components:
        evidence = table_evidence(clone(model).set_params(n_components=k), X, method, **options)
        found.append({"n_components": k, "log_evidence": evidence.value, "error": evidence.error})
    return Tidy.from_rows(found, ["n_components", "log_evidence", "error"])
