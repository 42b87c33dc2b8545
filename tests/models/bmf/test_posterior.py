"""The sampler of binary matrix factorization draws from the posterior it claims to draw from."""

import numpy as np
import pytest
from scipy.special import gammaln, log_expit
from scipy.stats import expon, gamma, norm, poisson
from tests.reference.bmf import (
    buffet_log_prior,
    finite_log_prior,
    finite_posterior,
    geweke,
    log_marginal,
)

from falsezero.models.bmf.births import births_and_deaths
from falsezero.models.bmf.entries import entry_blocks, single_entries
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.sampler import (
    Model,
    _with_concentration,
    draw_given,
    draw_prior,
    sweep,
    with_log_joint,
)
from falsezero.models.bmf.split_merge import split_merge
from falsezero.models.bmf.state import Cells, Features, Priors, State, gamma_log_density

TIGHT = Priors((4.0, 4.0), (4.0, 4.0), (4.0, 4.0), (4.0, 4.0))
TABLE = np.array([[1.4, 0.2, 1.1], [0.1, -0.9, 0.3], [1.2, -0.7, 1.6]])


def sampled(model, table, moves, n_draws, seed=0):
    """Features visited by some moves and the weights, hyperparameters held at one."""
    rng = np.random.default_rng(seed)
    cells = Cells.of(table)
    state = draw_given(model, 1.0, 1.0, 1.0, 1.0, rng)
    for _ in range(n_draws):
        for move in moves:
            for side in (cells, cells.flipped):
                state = move(state, side, model.likelihood, rng).flipped()
        weights = model.likelihood.draw_weights(state, cells, rng)
        state = state._replace(weights=weights)
        yield state


@pytest.mark.parametrize(("missing", "beta"), [(False, 1.0), (True, 1.0), (False, 2.5)])
@pytest.mark.parametrize(
    "moves", [[single_entries], [single_entries, entry_blocks], [single_entries, split_merge]]
)
def test_the_finite_posterior_is_that_of_enumeration(moves, missing, beta):
    table = TABLE.copy()
    if missing:
        table[0, 1] = table[2, 2] = np.nan
    exact = finite_posterior(table, 2, 1, 1.0, 1.0, 1.0, beta)
    model = Model(LIKELIHOODS["gaussian"], np.ones((3, 0)), np.ones((3, 0)), 2, 1, beta=beta)
    n = 3000
    found = dict.fromkeys(exact, 0.0)
    on = np.zeros((n, 6))
    for t, state in enumerate(sampled(model, table, moves, n)):
        found[state.rows.on.tobytes() + state.columns.on.tobytes()] += 1 / n
        on[t] = np.concatenate([state.rows.on.sum(axis=1), state.columns.on.ravel()])
    expected = np.zeros(6)
    for key, share in exact.items():
        bits = np.frombuffer(key, dtype=np.uint8)
        expected[:3] += share * bits[:6].reshape(3, 2).sum(axis=1)
        expected[3:] += share * bits[6:]
    batches = on.reshape(30, -1, 6).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(30) + 1e-9
    assert (np.abs(on.mean(axis=0) - expected) < 4.5 * error).all()
    distance = 0.5 * sum(abs(found[key] - exact[key]) for key in exact)
    assert distance < 0.16


@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_the_number_of_features_has_the_posterior_of_the_indian_buffet(beta):
    """Two rows, V known: classes of U with up to six features, weights integrated out."""
    table = np.array([[2.4, -1.0, 2.0], [0.3, -1.2, 1.1]])
    v = np.array([[1], [0], [1]], dtype=np.uint8)
    log_p = {}
    for both in range(5):
        for first in range(5):
            for second in range(5):
                columns = [[1, 1]] * both + [[1, 0]] * first + [[0, 1]] * second
                u = np.array(columns).reshape(-1, 2).T
                value = buffet_log_prior(u, 1.0, beta) + log_marginal(table, u, v, 1.0, 1.0)
                log_p[both, first, second] = value
    share = np.exp(np.array(list(log_p.values())) - max(log_p.values()))
    share /= share.sum()
    expected = share @ np.array(list(log_p), dtype=float)
    model = Model(LIKELIHOODS["gaussian"], np.ones((2, 0)), v, beta=beta)
    rng = np.random.default_rng(1)
    cells = Cells.of(table)
    for moves in ([single_entries, births_and_deaths], [births_and_deaths, split_merge]):
        state = draw_given(model, 1.0, 1.0, 1.0, 1.0, rng)
        state = state._replace(columns=state.columns._replace(on=v), weights=state.weights[:, :1])
        found = []
        for _ in range(4000):
            for move in moves:
                state = move(state, cells, model.likelihood, rng)
            drawn = model.likelihood.draw_weights(state, cells, rng)
            state = state._replace(weights=drawn)
            u = state.rows.on
            found.append([(u[0] & u[1]).sum(), (u[0] > u[1]).sum(), (u[1] > u[0]).sum()])
        batches = np.reshape(found, (25, -1, 3)).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / 5
        assert (np.abs(np.mean(found, axis=0) - expected) < 4.5 * error).all()


@pytest.mark.parametrize("n_split_merge", [0, 1])
@pytest.mark.parametrize("finite", [0, 2])
@pytest.mark.parametrize("name", sorted(LIKELIHOODS))
def test_geweke(name, finite, n_split_merge):
    """Successive-conditional draws look like draws from the prior, in Monte Carlo errors."""
    model = Model(
        LIKELIHOODS[name], np.ones((4, 1)), np.ones((3, 1)), finite, finite, TIGHT, n_split_merge
    )
    missing = np.zeros((4, 3), dtype=bool)
    missing[0, :2] = missing[2, 1] = True
    # Poisson weights, their scale and the table wander together slowly: batches must be longer.
    n_draws = 2500 if name == "poisson" else 700
    scores = geweke(model, n_draws, np.random.default_rng(3), missing=missing)
    assert np.abs(scores).max() < 4.5


@pytest.mark.parametrize(("finite", "beta"), [(0, 0.5), (0, 3.0), (2, 0.5), (2, 3.0)])
def test_geweke_where_beta_is_not_one(finite, beta):
    fixed = np.ones((4, 1)), np.ones((3, 1))
    model = Model(LIKELIHOODS["gaussian"], *fixed, finite, finite, TIGHT, beta=beta)
    # With a small beta features come and go slowly: batches of a short chain are too alike.
    scores = geweke(model, 2800, np.random.default_rng(3))
    assert np.abs(scores).max() < 4.5


def broken_split_merge(state, cells, likelihood, rng):
    """Split-merge that forgets how likely its proposals were."""
    from falsezero.models.bmf import split_merge as module

    honest = module._scan

    def scan(*given):
        choice, _ = honest(*given)
        return choice, 0.0

    module._scan = scan
    try:
        return split_merge(state, cells, likelihood, rng)
    finally:
        module._scan = honest


def broken_births(state, cells, likelihood, rng):
    """Births with twice the rate that the prior has."""
    rows = state.rows
    wrong = state._replace(rows=rows._replace(concentration=2 * rows.concentration))
    moved = births_and_deaths(wrong, cells, likelihood, rng)
    return moved._replace(rows=moved.rows._replace(concentration=rows.concentration))


@pytest.mark.parametrize("broken", [broken_split_merge, broken_births])
def test_geweke_finds_a_broken_move(broken):
    """The negative control: the same test, the same length, one wrong move a sweep."""
    model = Model(
        LIKELIHOODS["gaussian"], np.ones((4, 1)), np.ones((3, 1)), 0, 0, TIGHT, n_split_merge=0
    )

    def one_sweep(state, cells, model, rng):
        for _ in range(3):
            state = broken(state, cells, model.likelihood, rng)
        return sweep(state, cells, model, rng)

    scores = geweke(model, 700, np.random.default_rng(3), one_sweep)
    assert np.abs(scores).max() > 6


@pytest.mark.parametrize("finite", [0, 2])
def test_geweke_finds_a_sampler_that_ignores_beta(finite):
    fixed = np.ones((4, 1)), np.ones((3, 1))
    model = Model(LIKELIHOODS["gaussian"], *fixed, finite, finite, TIGHT, beta=3.0)

    def one_sweep(state, cells, model, rng):
        wrong = {side: getattr(state, side)._replace(beta=1.0) for side in ("rows", "columns")}
        return sweep(state._replace(**wrong), cells, model, rng)

    assert np.abs(geweke(model, 700, np.random.default_rng(3), one_sweep)).max() > 6


@pytest.mark.parametrize("beta", [1.0, 0.3, 6.0])
@pytest.mark.parametrize("finite", [0, 3])
def test_the_concentration_has_its_posterior(finite, beta):
    """Features held fixed: draws of alpha against its density on a grid."""
    on = np.zeros((6, 4 if finite else 3), np.uint8)
    on[:, 0], on[:4, 1], on[:1, 2] = 1, 1, 1
    features = Features(on, 1, finite, 1.0, beta)
    prior = (2.0, 1.5)
    grid = np.linspace(1e-4, 15, 6000)
    log_p = np.array(
        [features._replace(concentration=a).log_prior() + gamma_log_density(a, prior) for a in grid]
    )
    share = np.exp(log_p - log_p.max())
    share /= share.sum()
    mean = share @ grid
    spread = np.sqrt(share @ (grid - mean) ** 2)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(6000):
        features = _with_concentration(features, prior, rng)
        drawn.append(features.concentration)
    batches = np.reshape(drawn, (30, -1)).mean(axis=1)
    assert abs(np.mean(drawn) - mean) < 4.5 * batches.std(ddof=1) / np.sqrt(30)
    assert np.std(drawn) == pytest.approx(spread, rel=0.08)


@pytest.mark.parametrize("name", sorted(LIKELIHOODS))
def test_weight_scales_and_noise_have_their_conjugate_posteriors(name):
    """Means of many draws of phi | W and theta | X against the gamma's own."""
    likelihood, rng = LIKELIHOODS[name], np.random.default_rng(0)
    weights, prior = np.array([[0.5, 2.0, 1.0]]), (2.0, 3.0)
    drawn = [likelihood.draw_scale(weights, prior, rng) for _ in range(4000)]
    if name == "poisson":
        shape, rate = 2 + 3, 3 + weights.sum()
    else:
        shape, rate = 2 + 1.5, 3 + 0.5 * (weights**2).sum()
    assert np.mean(drawn) == pytest.approx(shape / rate, rel=0.04)
    assert np.var(drawn) == pytest.approx(shape / rate**2, rel=0.15)
    if name == "gaussian":
        on = Features(np.ones((2, 1), np.uint8), 1, 0, 1.0)
        state = State(on, on, np.array([[0.5]]), 1.0, 1.0)
        cells = Cells.of(np.array([[1.0, np.nan], [0.0, 2.0]]))
        drawn = [likelihood.draw_precision(state, cells, prior, rng) for _ in range(4000)]
        rate = 3 + 0.5 * (0.25 + 0.25 + 2.25)
        assert np.mean(drawn) == pytest.approx(3.5 / rate, rel=0.04)
        assert np.var(drawn) == pytest.approx(3.5 / rate**2, rel=0.15)
    else:
        assert likelihood.draw_precision(None, None, prior, rng) == 1
    total = likelihood.weight_log_prior(weights, 0.7)
    if name == "poisson":
        expected = expon.logpdf(weights, scale=1 / 0.7).sum()
    else:
        expected = norm.logpdf(weights, scale=1 / np.sqrt(0.7)).sum()
    assert total == pytest.approx(expected)


def test_the_log_joint_is_the_sum_of_its_parts():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4, 3))
    table[0, 0] = np.nan
    for name, likelihood in LIKELIHOODS.items():
        values = table if name == "gaussian" else (np.abs(table) > 0.5).astype(float)
        values = np.where(np.isnan(table), np.nan, values)
        model = Model(likelihood, np.ones((4, 1)), np.ones((3, 1)), 0, 0, TIGHT)
        state = draw_prior(model, rng)
        found = with_log_joint(state, Cells.of(values), model)
        mean, seen = state.predictor(), ~np.isnan(table)
        parts = {
            "gaussian": norm.logpdf(values, mean, 1 / np.sqrt(state.precision)),
            "logistic": np.where(values == 1, log_expit(mean), log_expit(-mean)),
            "poisson": poisson.logpmf(values, np.maximum(mean, 1e-300)),
        }
        expected = parts[name][seen].sum()
        assert found.log_likelihood == pytest.approx(expected)
        for value in (state.rows.concentration, state.columns.concentration, state.weight_scale):
            expected += gamma.logpdf(value, 4, scale=1 / 4)
        if name == "gaussian":
            expected += gamma.logpdf(state.precision, 4, scale=1 / 4)
        expected += likelihood.weight_log_prior(state.weights, state.weight_scale)
        expected += buffet_set_log_prior(state.rows) + buffet_set_log_prior(state.columns)
        assert found.log_joint == pytest.approx(expected)


def buffet_set_log_prior(features):
    """alpha^K exp(-alpha H_n) prod (n_k - 1)! (n - n_k)! / n! of an unordered set of features."""
    n, alpha = len(features.on), features.concentration
    total = -alpha * sum(1 / i for i in range(1, n + 1))
    for count in features.learnt.sum(axis=0, dtype=float):
        total += np.log(alpha) + gammaln(count) + gammaln(n - count + 1) - gammaln(n + 1)
    return total


@pytest.mark.parametrize("beta", [1.0, 0.4, 5.0])
def test_priors_of_features_follow_the_sequential_rule(beta):
    """Columns of different kinds, so that a class holds the set of features alone."""
    on = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)
    buffet = Features(on, 0, 0, 0.8, beta)
    assert buffet.log_prior() == pytest.approx(buffet_log_prior(on, 0.8, beta))
    finite = Features(on, 0, 3, 0.8, beta)
    assert finite.log_prior() == pytest.approx(finite_log_prior(on, 0.8, beta))
