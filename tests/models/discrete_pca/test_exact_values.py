"""Formulas of Discrete PCA, worked out on small tables."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, psi
from tests.models.discrete_pca.common import GROUPS, WITH_POISSON, family_of

from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import (
    Hyper,
    _inverse_digamma,
    dirichlet_alpha,
    gamma_rate,
    gamma_shape,
    gamma_shape_at,
    polya_alpha,
    read_family,
)
from falsezero.models.discrete_pca.lengths import TokenPrior, has_one_rate, log_length
from falsezero.models.discrete_pca.posterior import Posterior
from falsezero.models.discrete_pca.row_likelihood import log_given, row_constants
from falsezero.models.discrete_pca.settings import (
    check_counts,
    default_alpha,
    per_component,
    priors_to_learn,
)

COUNTS = sparse.csr_array(np.array([[2.0, 0, 1, 3], [0, 4, 0, 0]]))


def test_families_know_their_groups():
    general = read_family("gamma-multinomial", WITH_POISSON, 4)
    assert general.names == ("b", "poisson")
    assert general.groups.tolist() == [1, 1, 0, 0]
    assert general.poisson.tolist() == [True, True, False, False]
    assert general.delta == 1
    assert general.sizes.tolist() == [2, 2]
    assert general.lengths(COUNTS).tolist() == [4, 0]
    whole = COUNTS.toarray()
    expected = -gammaln(whole + 1).sum() + gammaln(4 + 1) + gammaln(0 + 1)
    assert general.constant(COUNTS) == pytest.approx(expected)
    both = read_family("dirichlet-multinomial", GROUPS, 4)
    expected = -gammaln(whole + 1).sum() + gammaln([3, 5, 5, 1]).sum()
    assert both.constant(COUNTS) == pytest.approx(expected)
    assert both.delta == 0
    table = np.arange(1.0, 9).reshape(4, 2)
    np.testing.assert_allclose(both.group_sums(table), [[4, 6], [12, 14]])
    np.testing.assert_allclose(both.normalise(table)[2], [5 / 12, 6 / 14])
    alone = read_family("gamma-poisson", None, 4)
    np.testing.assert_allclose(alone.group_sums(table), [[16, 20]])
    assert alone.lengths(COUNTS).tolist() == [0, 0]


def test_groups_may_be_named_by_column():
    groups = {"x": "b", "y": "a", "z": "b"}
    named = read_family("dirichlet-multinomial", groups, 3, names=["x", "y", "z"])
    assert named.groups.tolist() == [1, 0, 1]
    numbered = read_family("dirichlet-multinomial", {2: "a", 0: "b", 1: "b"}, 3)
    assert numbered.groups.tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="does not mention the column 'w'"):
        read_family("dirichlet-multinomial", groups, 3, names=["x", "w", "z"])
    with pytest.raises(ValueError, match=r"one group per column \(4\)"):
        read_family("dirichlet-multinomial", ["a", "b"], 4)


@pytest.mark.parametrize(
    ("beta", "learn_alpha", "learn_beta", "expected"),
    [
        (None, False, None, (False, True)),
        (2.0, True, None, (True, False)),
        (2.0, False, True, (False, True)),
        (None, True, False, (True, False)),
    ],
)
def test_rates_are_learnt_unless_they_are_given(beta, learn_alpha, learn_beta, expected):
    gamma, plain = family_of("gamma-poisson"), family_of("dirichlet")
    options = {"beta": beta, "learn_alpha": learn_alpha, "learn_beta": learn_beta}
    model = DiscretePCA(2, inference="mean_field", **options)
    assert priors_to_learn(model, gamma) == expected
    assert priors_to_learn(model, plain) == (expected[0], False), "a Dirichlet has no rate"
    assert priors_to_learn(DiscretePCA(2, inference="em"), gamma) == (False, False)


def test_constants_by_row_add_up_to_that_of_the_table():
    for name in ("dirichlet", "dirichlet in groups", "gamma-poisson", "gamma, poisson block"):
        family = family_of(name)
        assert row_constants(family, COUNTS).sum() == pytest.approx(family.constant(COUNTS))


@pytest.mark.parametrize("name", ["dirichlet", "gamma-poisson", "gamma, poisson block"])
def test_the_likelihood_given_weights_is_that_of_scipy(name):
    family = family_of(name)
    theta = family.normalise(np.random.default_rng(0).random((4, 2)) + 0.1)
    weights = np.array([[0.7, 1.9], [2.0, 0.4]])
    if not family.gamma:
        weights /= weights.sum(axis=1, keepdims=True)
    known = SimpleNamespace(family=family, components=theta.T)
    expected = []
    for row, own in zip(COUNTS.toarray(), weights, strict=True):
        mean, total = theta @ own, own.sum()
        log_p = stats.poisson.logpmf(row, mean)[family.poisson].sum()
        for g in range(len(family.names)):
            inside = (family.groups == g) & ~family.poisson
            if inside.any():
                part = row[inside]
                log_p += stats.multinomial.logpmf(part, part.sum(), mean[inside] / total)
        expected.append(log_p)
    np.testing.assert_allclose(log_given(known, COUNTS, weights), expected, rtol=1e-10)


def test_lengths_are_sums_of_negative_binomials():
    hyper = Hyper(np.array([0.7, 1.6]), np.array([0.4, 2.0]))
    p = [stats.nbinom(a, b / (1 + b)) for a, b in zip(*hyper, strict=True)]
    exact = [sum(p[0].pmf(i) * p[1].pmf(n - i) for i in range(n + 1)) for n in range(6)]
    np.testing.assert_allclose(np.exp(log_length(hyper, np.arange(6.0))), exact, rtol=1e-10)
    half = log_length(hyper, np.array([2.5]))
    assert half[0] == pytest.approx(np.log(exact[2] * exact[3]) / 2)
    equal = Hyper(np.array([0.7, 1.6]), np.array([0.4, 0.4]))
    whole = stats.nbinom(2.3, 0.4 / 1.4).logpmf(np.arange(6))
    np.testing.assert_allclose(log_length(equal, np.arange(6.0)), whole, rtol=1e-10)
    assert has_one_rate(equal)
    assert not has_one_rate(hyper)
    drawn = TokenPrior(hyper, 3).draw(np.full(4000, 3), np.random.default_rng(0))
    assert (drawn.sum(axis=1) == 3).all()
    share = np.array([p[0].pmf(i) * p[1].pmf(3 - i) for i in range(4)])
    found = np.bincount(drawn[:, 0], minlength=4) / 4000
    np.testing.assert_allclose(found, share / share.sum(), atol=0.03)


def test_tokens_of_three_components_given_their_sum():
    hyper = Hyper(np.array([0.7, 1.6, 0.4]), np.array([0.4, 2.0, 0.8]))
    p = [stats.nbinom(a, b / (1 + b)) for a, b in zip(*hyper, strict=True)]
    every = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
    share = np.array([np.prod([q.pmf(n) for q, n in zip(p, c, strict=True)]) for c in every])
    prior = TokenPrior(hyper, 9)
    for c, total in zip(prior.sums, (p[:1], p[:2], p), strict=True):
        mean = sum(q.mean() for q in total)
        assert c @ np.arange(10) <= mean, "cut off at the longest row"
    np.testing.assert_allclose(np.log(prior.sums[2]), log_length(hyper, np.arange(10.0)))
    drawn = prior.draw(np.full(6000, 4), np.random.default_rng(0))
    assert (drawn.sum(axis=1) == 4).all()
    for c, expected in zip(every, share / share.sum(), strict=True):
        found = (drawn == c).all(axis=1).mean()
        assert found == pytest.approx(expected, abs=4.5 * np.sqrt(expected / 6000))
    # Where no share of a length can be told from nothing, all tokens are the first component's.
    rare = TokenPrior(Hyper(np.ones(2), np.full(2, 1e200)), 3)
    assert rare.draw(np.array([3]), np.random.default_rng(0)).tolist() == [[3, 0]]
    single = Hyper(np.array([0.7]), np.array([0.4]))
    assert has_one_rate(single)
    np.testing.assert_allclose(log_length(single, [2.0]), p[0].logpmf(2))
    assert prior.draw(np.array([0, 9]), np.random.default_rng(0)).sum(axis=1).tolist() == [0, 9]


def test_digammas_are_inverted_over_their_whole_range():
    y = np.array([-1e9, -1000.0, -30.0, -3.0, -2.23, -2.21, -1.0, -0.5, 0.0, 2.0, 10.0, 25.0])
    np.testing.assert_allclose(psi(_inverse_digamma(y)), y, rtol=1e-10, atol=1e-12)
    gap = np.array([1e-4, 1e-2, 0.5, 3.0, 30.0])
    shape = gamma_shape(np.ones(5), -gap)
    np.testing.assert_allclose((np.log(shape) - psi(shape))[1:], gap[1:], rtol=1e-9)
    assert shape[0] == 1000, "the largest shape that is learnt"


def test_priors_solve_their_equations():
    mean_log = np.array([-1.2, -0.9])
    alpha = dirichlet_alpha(np.ones(2), mean_log, 2000)
    np.testing.assert_allclose(psi(alpha) - psi(alpha.sum()), mean_log, atol=1e-6)
    shape = gamma_shape(np.array([2.0]), np.array([0.3]))
    np.testing.assert_allclose(np.log(shape) - psi(shape), np.log(2.0) - 0.3, atol=1e-8)
    shape = gamma_shape_at(np.array([3.0]), np.array([0.3]))
    np.testing.assert_allclose(psi(shape) - np.log(3.0), 0.3, atol=1e-8)
    np.testing.assert_allclose(gamma_rate(np.array([2.0, 1.0]), np.array([4.0, 0.0])), [0.5, 1e8])
    components, counts = np.array([0, 0, 1]), np.array([2.0, 5.0, 3.0])
    start = np.array([0.5, 1.5])
    rise = [psi(2.5) - psi(0.5) + psi(5.5) - psi(0.5), psi(4.5) - psi(1.5)]
    found = polya_alpha(start, components, counts, lambda a: 2.0, sweeps=1)
    np.testing.assert_allclose(found, start * rise / 2)


def test_default_priors():
    plain, gamma = read_family("dirichlet-multinomial", None, 3), family_of("gamma-poisson")
    assert default_alpha(plain, "em", 10) == 0.1
    assert default_alpha(plain, "em", 1000) == 0.05
    assert default_alpha(plain, "mean_field", 10) == default_alpha(plain, "gibbs", 10) == 0.5
    assert default_alpha(plain, "mean_field", 200) == 0.25
    assert default_alpha(gamma, "em", 10) == 0.5
    assert per_component("alpha", 2, 3).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="one positive number"):
        per_component("alpha", [1.0, 0.0], 2)
    counts = np.array([[3.0, 1], [0, 4]])
    model = DiscretePCA(2, family="gamma-poisson", alpha=[0.5, 1.5], max_iter=2)
    blocks = model._blocks(counts, reset=True)
    hyper = model._priors(model._family(2), blocks)
    np.testing.assert_allclose(hyper.beta, 2.0 / 4.0)
    assert DiscretePCA.from_components(np.eye(2)).alpha_.tolist() == [0.1, 0.1]


def test_rows_of_several_groups_are_judged_by_group():
    scores = {
        "bag": [None, ["a", "a"], {"x": "a", "y": "a"}],
        "bag by group": [["a", "b"], {"x": "a", "y": "b"}],
    }
    for score, every in scores.items():
        for groups in every:
            assert DiscretePCA(2, groups=groups).capabilities.row_score == score
    for inference in ("em", "mean_field", "gibbs", "collapsed_gibbs"):
        distributed = DiscretePCA(2, inference=inference).capabilities.distributed
        assert distributed is (inference != "gibbs")
    assert not DiscretePCA(
        2, inference="collapsed_gibbs", collapse="weights"
    ).capabilities.distributed


@pytest.mark.parametrize(("n_rows", "sizes"), [(4, [4]), (9, [5, 4]), (40, [5] * 8)])
def test_blocks_are_as_large_as_theta_and_at_most_eight(n_rows, sizes):
    table = np.ones((n_rows, 5))
    model = DiscretePCA(2, inference="mean_field")
    assert [block.shape[0] for block in model._blocks(table, reset=True)] == sizes
    whole = DiscretePCA(2, inference="collapsed_gibbs")
    assert len(whole._blocks(table, reset=True)) == 1
    assert len(whole._blocks(table, reset=False)) == len(sizes)
    rows = DiscretePCA(2, inference="collapsed_gibbs", collapse="weights")
    assert len(rows._blocks(table, reset=True)) == len(sizes)


def test_counts_beyond_what_samplers_hold_are_refused():
    check_counts(np.array([0.5]), "M", None)
    check_counts(np.array([10.0**9]), "M", "collapsed_gibbs")
    with pytest.raises(ValueError, match="takes at most"):
        check_counts(np.array([10.0**9, 1.0]), "M", "collapsed_gibbs")
    check_counts(np.array([2.0**53]), "M", "gibbs")
    with pytest.raises(ValueError, match="at most 2\\^53"):
        check_counts(np.array([2.0**53, 2.0]), "M", "gibbs")
    with pytest.raises(ValueError, match="whole counts"):
        check_counts(np.array([0.5]), "M", "gibbs")


def test_draws_are_averaged_and_traced():
    weights = iter([np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([[3.0, 1.0], [4.0, 0.0]])])
    thetas = iter([np.array([[0.2], [0.8]]), np.array([[0.6], [0.4]])])

    def add_components(state, total):
        return next(thetas) + (0 if total is None else total)

    hyper = Hyper(np.ones(2), np.ones(2))
    steps = SimpleNamespace(
        hyper=None, row_weights=lambda local, state: next(weights), add_components=add_components
    )
    posterior = Posterior(steps)
    for _ in range(2):
        posterior.add(Point(SimpleNamespace(hyper=hyper), []))
    assert posterior.n_draws == 2
    assert posterior.hyper is hyper
    np.testing.assert_allclose(posterior.components, [[0.4], [0.6]])
    np.testing.assert_allclose(posterior.row_weights, [[2, 2], [3, 1]])
    rows = [("warm-up", -9.0), ("draw", -5.0), ("thinned", -4.0), ("draw", -3.0)]
    history = [{"what": what, "objective": value} for what, value in rows]
    trace = posterior.trace(history)
    assert trace["log_joint"].tolist() == [-5, -3]
    concentration = [(0.0625 + 0.5625 + 0.5) / 2, (0.5625 + 0.0625 + 1) / 2]
    np.testing.assert_allclose(trace["concentration"], concentration)
    np.testing.assert_allclose(trace["share"], [[0.625, 0.375], [0.875, 0.125]])
    assert posterior.trace(history[:1])["log_joint"].tolist() == [-9]
