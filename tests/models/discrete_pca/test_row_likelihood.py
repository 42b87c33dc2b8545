"""What a known Theta says of rows: importance weights, expected tables, draws and priors."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, psi
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    MODELS,
    blocks_of,
    family_of,
    fitted,
    steps_of,
    tiny,
)
from tests.models.discrete_pca.test_steps_values import log_likelihood
from tests.reference import discrete_pca as reference

from falsezero.inference.contract import Point
from falsezero.models.discrete_pca import evidence, row_likelihood
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.lengths import log_length
from falsezero.models.discrete_pca.rows import KnownTheta, expected_weights

EVERY = pytest.mark.parametrize("name", list(MODELS))


def theta_of(name, seed=2):
    return family_of(name).normalise(np.random.default_rng(seed).random((4, 2)) + 0.1)


def density(family, weights, shape, rate):
    if family.gamma:
        return stats.gamma(shape, scale=1 / rate).pdf(weights).prod()
    return stats.dirichlet(shape).pdf(weights / weights.sum())


@EVERY
def test_importance_weights_are_ratios_of_densities(name):
    """Every fifth draw is from the prior; each is weighed by the mixture of both."""
    model, row = fitted(name, theta_of(name)), COUNTS[0]
    family, columns = model.family_, np.flatnonzero(row)
    proposal = np.array([1.3, 2.1]), np.array([1.4, 0.9])
    found = row_likelihood._importance_weights(
        model._known, columns, row[columns], proposal, 12, np.random.default_rng(5)
    )
    is_prior = np.array([i % 5 == 4 for i in range(12)])[:, None]
    gammas = np.random.default_rng(5).standard_gamma(np.where(is_prior, ALPHA, proposal[0]))
    weights = gammas / np.where(is_prior, BETA, proposal[1])
    if not family.gamma:
        weights = gammas / gammas.sum(axis=1, keepdims=True)
    values = sparse.csr_array(row[None])
    constant = row_likelihood.row_constants(family, values)[0]
    for w, log_weight in zip(weights, found, strict=True):
        prior = density(family, w, ALPHA, BETA)
        mixture = 0.8 * density(family, w, *proposal) + 0.2 * prior
        log_p = row_likelihood.log_given(model._known, values, w[None])[0] - constant
        assert log_weight == pytest.approx(log_p + np.log(prior / mixture))


def test_weights_given_the_likelihood_are_those_of_scipy():
    """`log_given` itself, in a family with both kinds of groups."""
    name = "gamma, poisson block"
    model, weights = fitted(name, theta_of(name)), np.array([[0.7, 1.9], [2.0, 0.4]])
    found = row_likelihood.log_given(model._known, sparse.csr_array(COUNTS), weights)
    expected = log_likelihood(model.family_, weights, theta_of(name))
    assert found.sum() == pytest.approx(expected)


@EVERY
def test_proposals_are_wider_than_mean_field(name):
    model = fitted(name, theta_of(name))
    family, theta = model.family_, theta_of(name)
    counts = np.tile(COUNTS, (3, 1))
    shape, rate = row_likelihood._proposals(model._known, sparse.csr_array(counts))
    assert shape.shape == rate.shape == (6, 2)
    for i, row in enumerate(counts):
        a = ALPHA + row.sum() / 2
        bags = row[~family.poisson].sum() if family.gamma else 0.0
        b = BETA + family.delta + bags / (ALPHA / BETA).sum()
        for _ in range(30):
            weight = np.exp(psi(a)) / (b if family.gamma else 1)
            joint = weight * theta
            new = ALPHA + (row[:, None] * joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
            b, a = BETA + family.delta + bags / (a / b).sum(), new
        np.testing.assert_allclose(shape[i], ALPHA + 0.7 * (a - ALPHA), rtol=1e-9)
        if family.gamma:
            np.testing.assert_allclose(rate[i], BETA + 0.7 * (b - BETA), rtol=1e-9)


def test_a_row_is_the_mean_of_its_importance_weights(monkeypatch):
    model, values = fitted("dirichlet", theta_of("dirichlet")), sparse.csr_array(COUNTS)
    weights = {4.0: np.array([-3.0, -5.0, -4.0]), 3.0: np.array([-2.0, -2.5, -9.0])}

    def of_row(known, columns, counts, proposal, n_draws, rng):
        assert n_draws == 3
        return weights[counts.sum()]

    monkeypatch.setattr(row_likelihood, "_importance_weights", of_row)
    found = row_likelihood.row_importance(model._known, values, 3)
    expected = [np.log(np.exp(weights[n]).mean()) for n in (4.0, 3.0)]
    np.testing.assert_allclose(
        found, expected + row_likelihood.row_constants(model.family_, values)
    )


@EVERY
def test_rows_settle_with_theta_as_it_is(name):
    """The bound rises, no words are counted, and strides keep three tenths of every shape."""
    blocks, model = blocks_of(COUNTS), fitted(name, theta_of(name))
    steps = KnownTheta(model.family_, blocks, model._hyper, exposure=0.5)
    assert steps.delta == 0.5 * model.family_.delta
    point = steps.start(blocks, model.components_.T)
    state, [rows] = point
    assert state.divergence == 0
    bounds = []
    for _ in range(5):
        rows, found = steps.local_step(blocks[0], rows, state, None)
        assert found.words.shape == (0, 2)
        assert found.n_rows == 2
        bounds.append(steps.objective(found, state))
    assert (np.diff(bounds) > -1e-12).all()
    wild = Point(state, [rows._replace(shape=-rows.shape)])
    kept = steps.project(wild, Point(state, [rows]))
    np.testing.assert_allclose(kept.local[0].shape, 0.3 * rows.shape)
    assert kept.state is state
    expected = rows.shape / (rows.rate if model.family_.gamma else rows.shape.sum(axis=1)[:, None])
    np.testing.assert_allclose(expected_weights(model.family_, rows), expected)


def test_a_bag_is_judged_given_its_length():
    counts = sparse.csr_array(COUNTS)
    unequal = fitted("gamma-poisson", theta_of("gamma-poisson"))
    found = row_likelihood.bag_log_likelihood(unequal._known, counts, 20)
    whole = row_likelihood.row_importance(unequal._known, counts, 20)
    lengths = COUNTS.sum(axis=1)
    np.testing.assert_allclose(found, whole - log_length(unequal._hyper, lengths))
    np.testing.assert_array_equal(
        unequal.score_samples(COUNTS),
        row_likelihood.bag_log_likelihood(unequal._known, counts, 200),
    )
    # Of the general model only the Poisson block has a length of its own.
    both = fitted("gamma, poisson block", theta_of("gamma, poisson block"))
    found = row_likelihood.bag_log_likelihood(both._known, counts, 20)
    whole = row_likelihood.row_importance(both._known, counts, 20)
    np.testing.assert_allclose(found, whole - log_length(both._hyper, COUNTS[:, :2].sum(axis=1)))
    # With one rate the shares are a Dirichlet, whatever the length.
    equal = fitted("gamma-poisson", theta_of("dirichlet"), beta=np.full(2, 0.5))
    plain = fitted("dirichlet", theta_of("dirichlet"), beta=np.full(2, 0.5))
    np.testing.assert_allclose(equal.score_samples(COUNTS), plain.score_samples(COUNTS))


@EVERY
def test_expected_counts_and_shares(name):
    model, theta = fitted(name, theta_of(name)), theta_of(name)
    weights = np.array([[0.6, 1.8], [3.0, 1.0]])
    expected = np.empty((2, 4))
    for i, j in np.ndindex(2, 4):
        share = weights[i] / weights[i].sum()
        expected[i, j] = theta[j] @ (weights[i] if model.family_.poisson[j] else share)
    np.testing.assert_allclose(model._expected(weights), expected)
    groups = model._column_groups()
    assert list(groups) == list(model.family_.names)
    for g, columns in enumerate(groups.values()):
        np.testing.assert_array_equal(columns, np.flatnonzero(model.family_.groups == g))
    prior = ALPHA / BETA if model.family_.gamma else ALPHA / ALPHA.sum()
    np.testing.assert_allclose(model._average_weights, prior)


@EVERY
def test_drawn_rows_have_the_means_of_the_model(name):
    model, n = fitted(name, theta_of(name), beta=np.array([2.0, 4.0])), 20_000
    rows = model.sample(n, length=[30, 20][: len(model.family_.names)], random_state=0)
    rng = np.random.default_rng(1)
    weights = rng.standard_gamma(ALPHA, (200_000, 2))
    if model.family_.gamma:
        weights /= [2.0, 4.0]
    expected = model._expected(weights).mean(axis=0)
    lengths = np.array([30, 20])[model.family_.groups]
    expected = np.where(model.family_.poisson, expected, lengths * expected)
    error = rows.std(axis=0) / np.sqrt(n)
    assert (np.abs(rows.mean(axis=0) - expected) < 5 * error).all()
    for g in range(len(model.family_.names)):
        inside = (model.family_.groups == g) & ~model.family_.poisson
        assert set(rows[:, inside].sum(axis=1)) <= {0.0, [30.0, 20.0][g]}
    if not model.family_.poisson.any():
        assert (model.sample(3, random_state=0).sum(axis=1) == 100 * len(model.family_.names)).all()
    assert model.sample(random_state=0).shape == (1, 4)


class Still:
    """Gammas that are their shapes, uniforms as told, orders kept, the likeliest choice."""

    def __init__(self, uniform):
        self.uniform = uniform

    def standard_gamma(self, shape):
        return np.asarray(shape, dtype=float)

    def random(self, size):
        return np.full(size, self.uniform)

    def permutation(self, values):
        return values

    def choice(self, n, p):
        return int(np.argmax(p))


@EVERY
@pytest.mark.parametrize("uniform", [0.01, 0.99])
@pytest.mark.parametrize("beta", [BETA, np.full(2, 0.5)], ids=["unequal", "equal"])
def test_annealing_begins_at_the_prior(name, uniform, beta):
    """Components by the shares of the weights, u by their totals; Poisson tokens come first."""
    blocks, family = blocks_of(COUNTS), family_of(name)
    steps = CollapsedSteps(family, blocks, Hyper(ALPHA, beta), ETA)
    rows = np.repeat([0, 1], COUNTS.sum(axis=1).astype(int))
    columns = np.concatenate([np.repeat(np.arange(4), row.astype(int)) for row in COUNTS])
    lengths = family.lengths(blocks[0].csr)
    is_poisson = family.poisson[columns]
    z, u = evidence._prior_draw(steps, Still(uniform), rows, is_poisson, lengths)
    # Shares of gammas with one rate do not depend on how many tokens there are.
    is_dealt = is_poisson & (name != "gamma-poisson" or beta is BETA)
    shape = np.tile(ALPHA, (2, 1))
    np.add.at(shape, (rows[is_dealt], z[is_dealt]), 1)
    scale = 1 / (beta + family.delta) if family.gamma else np.ones(2)
    weights = shape * scale
    share = weights[:, 0] / weights.sum(axis=1)
    np.testing.assert_array_equal(z[~is_dealt], (uniform > share)[rows[~is_dealt]])
    is_general = name in ("gamma-multinomial", "gamma, poisson block")
    np.testing.assert_allclose(u, lengths / weights.sum(axis=1) if is_general else [0, 0])
    again = evidence._drawn_totals(steps, np.ones((2, 2)), lengths, u, Still(0.5))
    rates = 1 / scale + u[:, None]
    np.testing.assert_allclose(evidence._row_scale(steps, u), 1 / rates)
    np.testing.assert_allclose(again, lengths / ((ALPHA + 1) / rates).sum(axis=1))
    in_poisson = COUNTS[:, family.poisson].sum(axis=1)
    length = (log_length(steps.hyper, in_poisson) + gammaln(in_poisson + 1)).sum()
    found = evidence._log_lengths(steps, blocks[0].csr)
    assert found == pytest.approx(length if family.poisson.any() else 0.0)


def test_annealing_adds_up_the_gains_of_every_temper(monkeypatch):
    """With sweeps that move nothing, the weight is log p(w | v) at the first draw."""
    steps, blocks = steps_of(CollapsedSteps, "dirichlet in groups"), blocks_of(COUNTS)
    tempers, seen = [], []

    def still(*arguments):
        tempers.append(arguments[-2])
        seen.append(arguments[6].copy())

    monkeypatch.setattr(evidence, "sweep_rows_collapsed", still)
    rising = (np.arange(9) / 8) ** 2
    ways = {
        "annealed": rising[1:],
        # To the posterior without being weighed, some sweeps there, and back.
        "reverse": np.concatenate([rising[1:], np.ones(50), rising[-2::-1]]),
    }
    for method, way in ways.items():
        tempers.clear()
        seen.clear()
        led = evidence._tempers(8, method)
        found = evidence._anneal(steps, blocks, np.random.default_rng(0), *led)
        np.testing.assert_allclose(tempers, way)
        np.testing.assert_allclose(seen[0].sum(axis=1), COUNTS.sum(axis=0))
        assert found == pytest.approx(reference.log_theta(tiny("dirichlet in groups"), seen[0]))
    assert (evidence._tempers(200, "reverse")[0] == 1).sum() == 101


def test_evidence_is_the_mean_over_chains(monkeypatch):
    logs, counts = iter([-20.0, -21.0, -19.5]), np.tile(COUNTS, (3, 1))

    def anneal(steps, blocks, rng, *way):
        assert len(blocks) == 1
        return next(logs)

    monkeypatch.setattr(evidence, "_anneal", anneal)
    model = DiscretePCA(2, alpha=ALPHA, eta=ETA)
    found = evidence.table_evidence(model, counts, n_chains=3)
    constant = reference.log_constant(tiny("dirichlet"), counts)
    each = np.array([-20.0, -21.0, -19.5]) + constant
    assert found.value == pytest.approx(np.log(np.exp(each).mean()))
    assert found.error == pytest.approx(each.std(ddof=1) / np.sqrt(3))


def test_the_harmonic_mean_of_likelihoods(monkeypatch):
    """Likelihoods of the words over draws after as many sweeps of warm-up."""
    steps, blocks = steps_of(CollapsedSteps, "gamma-poisson"), blocks_of(COUNTS)
    asked = {}

    def sample(steps, blocks, seeds, warmup, draws, record):
        asked.update(warmup=warmup, draws=draws)
        return [SimpleNamespace(draws=np.array([-9.0, -7.0, -8.5]))]

    monkeypatch.setattr(evidence, "sample", sample)
    found = evidence._harmonic(steps, blocks, None, 3)
    lengths = COUNTS.sum(axis=1)
    rest = (log_length(steps.hyper, lengths) + gammaln(lengths + 1)).sum() + steps.constant
    harmonic = -np.log(np.mean(np.exp([9.0, 7.0, 8.5])))
    assert found == pytest.approx(rest + harmonic)
    assert asked == {"warmup": 3, "draws": 3}


def test_estimates_from_draws_of_weights(monkeypatch):
    """The harmonic mean for rows, the mean for what if, over the same draws."""
    model, values = fitted("gamma-poisson", theta_of("gamma-poisson")), sparse.csr_array(COUNTS)
    draws = np.random.default_rng(0).uniform(0.3, 2, (6, 2, 2))
    asked = []

    def row_draws(model, values, n_draws, rng):
        asked.append((values.toarray().tolist(), n_draws))
        return iter(draws)

    monkeypatch.setattr(evidence, "_row_draws", row_draws)
    p = np.exp([row_likelihood.log_given(model._known, values, w) for w in draws])
    found = evidence.row_log_likelihood(model, COUNTS, "harmonic", n_draws=6)
    np.testing.assert_allclose(found, -np.log((1 / p).mean(axis=0)))
    more = COUNTS[::-1]
    further = sparse.csr_array(more)
    p = np.exp([row_likelihood.log_given(model._known, further, w) for w in draws])
    found = evidence.log_what_if(model, COUNTS, more, n_draws=6)
    np.testing.assert_allclose(found, np.log(p.mean(axis=0)))
    assert asked == [(COUNTS.tolist(), 6)] * 2
    with pytest.raises(ValueError, match="needs the rows and columns"):
        evidence.log_what_if(model, COUNTS, more[:1])
    with pytest.raises(ValueError, match="is unknown"):
        evidence.row_log_likelihood(model, COUNTS, "guess")
    with pytest.raises(ValueError, match="dirichlet-multinomial"):
        evidence.row_log_likelihood(model, COUNTS, "left_to_right")


def test_draws_of_weights_come_after_a_warm_up(monkeypatch):
    model, turns = fitted("dirichlet", theta_of("dirichlet")), []
    step = evidence.DirectGibbsSteps.local_step

    def local_step(self, block, rows, state, rng):
        turns.append(state.theta)
        return step(self, block, rows, state, rng)

    monkeypatch.setattr(evidence.DirectGibbsSteps, "local_step", local_step)
    values = sparse.csr_array(np.tile(COUNTS, (3, 1)))
    found = list(evidence._row_draws(model, values, 4, np.random.default_rng(0), warmup=3))
    assert (len(found), len(turns)) == (4, 7)
    np.testing.assert_allclose(turns[0], model.components_.T)
    np.testing.assert_allclose(np.sum(found, axis=2), np.ones((4, 6)))
