"""Every move of binary matrix factorization alone, against its slow twin."""

import numpy as np
import pytest
from scipy import stats
from tests.reference.bmf import (
    buffet_log_prior,
    features,
    finite_log_prior,
    plain_restricted_scan,
    plain_scan,
)

from falsezero.kernels import bmf as kernels
from falsezero.kernels.bmf_augment import deal_counts, polya_gammas, polya_gammas_by_pair
from falsezero.kernels.bmf_split import gaussian_options, restricted_scan
from falsezero.models.bmf.births import births_and_deaths
from falsezero.models.bmf.entries import entry_blocks, single_entries
from falsezero.models.bmf.likelihoods import LIKELIHOODS, weighted_precision
from falsezero.models.bmf.parts import KINDS, PARTS
from falsezero.models.bmf.sampler import Model, draw_given, sweep, with_log_joint
from falsezero.models.bmf.split_merge import split_merge
from falsezero.models.bmf.state import Cells

NAMES = sorted(LIKELIHOODS)


class Lazily:
    """Uniforms drawn when asked for, in the order asked for."""

    def __init__(self, rng):
        self.rng = rng

    def __getitem__(self, where):
        return self.rng.random()


def situation(name, finite=3, shape=(9, 7), missing=0.0, seed=0, beta=1.0):
    rng = np.random.default_rng(seed)
    n, m = shape
    fixed = np.ones((n, 1)), np.ones((m, 1))
    model = Model(LIKELIHOODS[name], *fixed, finite, finite, beta=beta)
    state = draw_given(model, 2.0, 2.0, 1.0, 2.0, rng)
    table = model.likelihood.simulate(state.predictor(), state.precision, rng)
    table[rng.random(shape) < missing] = np.nan
    return model, state, table, rng


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("finite", [0, 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_scan_takes_the_decisions_of_the_plain_rule(name, finite, missing):
    """With the same uniforms, incremental and word-by-word scans end in the same features."""
    for seed, beta in enumerate((1.0, 1.0, 0.3, 8.0)):
        model, state, table, _ = situation(name, finite, (14, 40), missing, seed, beta)
        cells, precision = Cells.of(table), state.precision

        def row_likelihood(row, predictor, precision=precision, likelihood=model.likelihood):
            seen = Cells.of(row[None])
            return likelihood.log_likelihood(seen, predictor[None], precision).sum()

        rows, source = state.rows, Lazily(np.random.default_rng(seed))
        plain = plain_scan(table, rows.on, 1, rows.mass, state.basis, row_likelihood, source, beta)
        moved = single_entries(state, cells, model.likelihood, np.random.default_rng(seed))
        assert (moved.rows.on == plain).all()


@pytest.mark.parametrize("n", [40, 600])
@pytest.mark.parametrize("size", [0.5, 1e6])
@pytest.mark.parametrize("step", [1.0, -1.0])
def test_logarithms_of_products_are_sums_of_logarithms(n, size, step):
    """However long the row and however large the ratios, some counts being too large for bits."""
    rng = np.random.default_rng(0)
    count = rng.poisson(6, size=n).astype(float)
    added, rest = size * rng.random(n), rng.random(n) + 0.01
    rate = rest + (added if step < 0 else 0.0)
    bits, large = np.empty((4, n)), np.empty(n, dtype=np.int64)
    n_large = kernels._bits_of(count, *bits, large)
    assert set(large[:n_large]) == set(np.flatnonzero(count > 15))
    found = kernels._log_rate_ratio(step, count, 1 / rate, *bits, added)
    terms = count * np.log((rate + step * added) / rate)
    assert np.isclose(found, terms[count < 16].sum(), rtol=1e-6)


def test_the_moves_change_something():
    model, state, table, rng = situation("gaussian", 0, (5, 4))
    cells = Cells.of(table)
    for move in (single_entries, entry_blocks, births_and_deaths, split_merge):
        moved = state
        for _ in range(100):
            moved = move(moved, cells, model.likelihood, rng)
        same = moved.rows.on.shape == state.rows.on.shape and (moved.rows.on == state.rows.on).all()
        assert not same, move.__name__


@pytest.mark.parametrize("name", NAMES)
def test_a_state_stays_whole(name):
    model, state, table, rng = situation(name, 0, (20, 15), 0.2)
    cells = Cells.of(table)
    for _ in range(30):
        state = sweep(state, cells, model, rng)
        assert state.weights.shape == (state.rows.on.shape[1], state.columns.on.shape[1])
        assert (state.rows.counts > 0).all()
        assert (state.columns.counts > 0).all()
        assert state.rows.on[:, 0].all()
        assert np.isfinite(state.log_joint)
        if name == "poisson":
            assert (state.weights > 0).all()


def test_priors_agree_with_the_sequential_rules():
    on = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0]])
    assert np.isclose(features(on, 3, 0.7).log_prior(), finite_log_prior(on, 0.7))
    # As an unordered set, no two columns being equal, it is the left-ordered class.
    assert np.isclose(features(on, 0, 0.7).log_prior(), buffet_log_prior(on, 0.7))


def test_the_precision_of_weights_is_that_of_the_kronecker_product():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(2, size=(6, 3)).astype(float), rng.integers(2, size=(5, 4)) * 1.0
    weight = rng.random((6, 5))
    design = np.kron(rows, columns)
    expected = design.T @ (weight.ravel()[:, None] * design)
    a, b = np.triu_indices(3)
    by_pair = (rows[:, a] * rows[:, b]).T @ weight
    assert np.allclose(weighted_precision(by_pair, columns), expected)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_weights_have_the_posterior_of_section_3_1(missing):
    """Moments of many draws, Gibbs over missing cells included, against the dense formula."""
    model, state, table, rng = situation("gaussian", 2, (8, 6), missing)
    cells, likelihood = Cells.of(table), model.likelihood
    design = np.kron(state.rows.on, state.columns.on).astype(float)
    seen = cells.observed.ravel() > 0
    precision = state.precision * design[seen].T @ design[seen] + np.eye(design.shape[1])
    mean = np.linalg.solve(precision, state.precision * design[seen].T @ table.ravel()[seen])
    draws = []
    for _ in range(6000):
        state = state._replace(weights=likelihood.draw_weights(state, cells, rng))
        draws.append(state.weights.ravel())
    spread = np.sqrt(np.diag(np.linalg.inv(precision)))
    error = spread * (0.015 if not missing else 0.05)
    assert (np.abs(np.mean(draws, axis=0) - mean) < 4 * error).all()
    assert np.allclose(np.std(draws, axis=0), spread, rtol=0.08)


def test_polya_gamma_moments():
    rng = np.random.default_rng(0)
    for tilt in (0.0, 0.5, 2.0, 6.0, 40.0):
        draws = polya_gammas(np.full(20000, tilt), np.ones(20000), rng)
        mean = 0.25 if tilt == 0 else np.tanh(tilt / 2) / (2 * tilt)
        assert abs(draws.mean() - mean) < 4.5 * draws.std() / np.sqrt(draws.size)
        # Laplace transform at 1: cosh(c/2) / cosh(sqrt(c^2/4 + 1/2)).
        log_expected = np.logaddexp(tilt / 2, -tilt / 2)
        root = np.sqrt(tilt**2 / 4 + 0.5)
        log_expected -= np.logaddexp(root, -root)
        values = np.exp(-draws)
        error = values.std() / np.sqrt(values.size)
        assert abs(values.mean() - np.exp(log_expected)) < 4.5 * error + 1e-12


def test_polya_gammas_are_added_up_over_the_rows_of_a_pair():
    rng = np.random.default_rng(0)
    on = rng.integers(2, size=(50, 3)).astype(np.uint8)
    basis, observed = 3 * rng.standard_normal((3, 40)), rng.integers(2, size=(50, 40)) * 1.0
    drawn = [polya_gammas_by_pair(on, basis, observed, rng) for _ in range(400)]
    tilt = on @ basis
    mean = np.where(on.any(axis=1)[:, None], np.tanh(tilt / 2) / (2 * tilt + 1e-300), 0.25)
    a, b = np.triu_indices(3)
    expected = (on[:, a] * on[:, b]).T @ (mean * observed)
    error = np.std(drawn, axis=0) / 20
    assert (np.abs(np.mean(drawn, axis=0) - expected) < 4.5 * error + 1e-9).all()


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_log_odds_however_large_leave_the_likelihood_finite(size):
    """By products of odds, and by exponentials where products would overflow."""
    model, state, table, rng = situation("logistic", 3, (9, 7), 0.3)
    state = state._replace(weights=size * state.weights)
    cells = Cells.of(table)
    plain = model.likelihood.log_likelihood(cells, state.predictor(), 1.0)
    assert (np.abs(state.predictor()).max() > 690) == (size > 1)
    assert np.isclose(model.likelihood.total(state, cells), plain.sum())
    for move in (single_entries, entry_blocks):
        assert (move(state, cells, model.likelihood, rng).rows.on[:, 0] == 1).all()


def test_counts_are_dealt_in_proportion():
    rng = np.random.default_rng(0)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    on = np.ones((1, 2), dtype=np.uint8)
    dealt = deal_counts(np.array([[10000.0]]), on, on, weights, weights @ on.T * 1.0, rng)
    assert dealt.sum() == 10000
    assert stats.chisquare(dealt.ravel(), 1000 * weights.ravel()).pvalue > 0.001


def test_the_restricted_scan_reports_its_own_probability():
    """Frequencies of all outcomes of small scans against the probability they were given."""
    rng = np.random.default_rng(0)
    terms = rng.standard_normal((3, 3))
    start, anchors = np.array([0, 1, 2]), np.array([0, 1])
    nothing = np.empty(0, dtype=np.int64)
    seen, n = {}, 20000
    for _ in range(n):
        choice, log_p = restricted_scan(terms, start, anchors, 0.0, 5.0, nothing, rng.random(3))
        count, _ = seen.get(tuple(choice), (0, 0))
        seen[tuple(choice)] = count + 1, log_p
    assert np.isclose(sum(np.exp(log_p) for _, log_p in seen.values()), 1, atol=1e-3)
    for choice, (count, log_p) in seen.items():
        share = np.exp(log_p)
        assert abs(count / n - share) < 4.5 * np.sqrt(share * (1 - share) / n)
        again = restricted_scan(terms, start, anchors, 0.0, 5.0, np.array(choice), np.empty(0))
        assert np.isclose(again[1], log_p)
        assert choice[0] != 1
        assert choice[1] != 0


@pytest.mark.parametrize(("mass", "beta"), [(0.0, 1.0), (0.4, 1.0), (0.0, 3.5), (0.4, 0.2)])
def test_the_restricted_scan_follows_the_plain_rule(mass, beta):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        terms, uniforms = rng.standard_normal((9, 3)), rng.random(9)
        start, anchors = rng.integers(3, size=9), np.array([2, 6])
        start[anchors] = 0, 1
        nothing = np.empty(0, dtype=np.int64)
        found = restricted_scan(terms, start, anchors, mass, beta + 11, nothing, uniforms)
        plain = plain_restricted_scan(terms, start, anchors, 12, mass, beta, uniforms)
        np.testing.assert_array_equal(found[0], plain[0])
        assert np.isclose(found[1], plain[1])


def test_the_log_joint_adds_likelihood_and_prior():
    model, state, table, _ = situation("gaussian", 2)
    state = with_log_joint(state, Cells.of(table), model)
    gammas = stats.gamma(1).logpdf(
        [2.0, 2.0, state.weight_scale, state.precision]
    ).sum()  # fmt: skip
    weights = stats.norm(0, state.weight_scale**-0.5).logpdf(state.weights).sum()
    cells = stats.norm(state.predictor(), state.precision**-0.5).logpdf(table).sum()
    prior = sum(finite_log_prior(side.learnt, 2.0) for side in (state.rows, state.columns))
    assert np.isclose(state.log_joint, gammas + weights + cells + prior)


def part_of(name, missing):
    """A table whose first two learnt features are taken out, as a split would."""
    model, state, table, rng = situation(name, 3, (9, 7), missing)
    rest = state.rows.on.astype(float)
    rest[:, 1:3] = 0
    cells = Cells.of(table)
    part = KINDS[model.likelihood.kind](state, cells, rest)
    return part, model.likelihood, state, cells, rest @ state.basis, rng


@pytest.mark.parametrize(
    ("name", "missing"), [("gaussian", 0), ("logistic", 0.3), ("poisson", 0.3)]
)
def test_options_of_a_row_are_as_likely_as_the_model_says(name, missing):
    part, likelihood, state, cells, base, rng = part_of(name, missing)
    weights = np.abs(rng.standard_normal((2, state.weights.shape[1])))
    found = part.terms(PARTS, part.inside(weights))
    expected = np.column_stack(
        [
            likelihood.log_likelihood(cells, base + added, state.precision).sum(axis=1)
            for added in PARTS @ weights @ state.columns.on.T
        ]
    )
    assert np.allclose(found - found[:, :1], expected - expected[:, :1])


def test_the_compiled_options_of_a_real_row_are_those_of_its_part():
    part, _, state, _, _, rng = part_of("gaussian", 0.0)
    weights = rng.standard_normal((2, state.weights.shape[1]))
    compiled = gaussian_options(part.slope, part.spread, weights, part.precision)
    assert np.allclose(compiled, part.terms(PARTS, weights))


def test_the_weights_of_a_split_have_their_posterior():
    part, _, state, cells, base, rng = part_of("gaussian", 0.0)
    choice = rng.integers(3, size=len(base))
    proposal = part.propose(PARTS, choice, np.zeros((2, 4)), 1)
    design = np.kron(PARTS[choice], state.columns.on)
    precision = state.precision * design.T @ design + state.weight_scale * np.eye(8)
    linear = state.precision * design.T @ (cells.values - base).ravel()
    exact = stats.multivariate_normal(np.linalg.solve(precision, linear), np.linalg.inv(precision))
    weights = rng.standard_normal((2, 4))
    assert np.isclose(proposal.log_density(part.inside(weights)), exact.logpdf(weights.ravel()))
    assert np.allclose(part.outside(proposal.mean).ravel(), exact.mean)
    draws = [part.outside(proposal.draw(rng)).ravel() for _ in range(4000)]
    assert np.allclose(np.cov(np.transpose(draws)), exact.cov, atol=0.06 * exact.cov.max())


@pytest.mark.parametrize("name", ["logistic", "poisson"])
def test_proposals_are_near_the_mode_of_the_weights(name):
    """The gradient of the log posterior (Poisson: of its log weights) vanishes at the mean."""
    part, likelihood, state, cells, base, rng = part_of(name, 0.3)
    choice = rng.integers(3, size=len(base))
    mean = part.propose(PARTS, choice, np.full((2, 4), 0.1), 200).mean.reshape(2, 4)

    def log_posterior(weights):
        added = PARTS[choice] @ weights @ state.columns.on.T
        value = likelihood.log_likelihood(cells, base + added, 1.0).sum()
        value += np.log(weights).sum() if name == "poisson" else 0.0
        return value + likelihood.weight_log_prior(weights, state.weight_scale)

    for where in np.ndindex(2, 4):
        step = np.zeros((2, 4))
        step[where] = 1e-4 * mean[where] if name == "poisson" else 1e-4
        slope = (log_posterior(mean + step) - log_posterior(mean - step)) / 2e-4
        assert abs(slope) < 1e-3
