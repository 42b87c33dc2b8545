"""Likelihood of rows and evidence of tables against sums over all components."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    MODELS,
    WITH_POISSON,
    corpus,
    family_of,
    fitted,
    tiny,
)
from tests.reference import discrete_pca as reference

import falsezero as fz
from falsezero.analysis.evidence import log_evidence
from falsezero.base.bags import split_tokens
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.evidence import log_what_if, row_log_likelihood, table_evidence


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "importance") for name in MODELS]
    + [(name, "left_to_right") for name in list(MODELS)[:2]]
    + [(name, "harmonic") for name in ["dirichlet", "gamma-poisson"]],
)
def test_row_log_likelihood_is_the_sum_over_components(name, method):
    theta = family_of(name).normalise(np.random.default_rng(2).random((4, 2)) + 0.1)
    exact = [
        reference.enumerate_components(tiny(name), COUNTS[i : i + 1], theta)[0] for i in range(2)
    ]
    found = row_log_likelihood(fitted(name, theta), COUNTS, method, n_draws=3000)
    np.testing.assert_allclose(found, exact, atol=0.06 if method != "harmonic" else 0.2)


def test_what_if_is_a_ratio_of_likelihoods():
    theta = family_of("dirichlet").normalise(np.random.default_rng(2).random((4, 2)) + 0.1)
    more = np.array([[0.0, 1, 0, 0], [0, 0, 0, 2]])
    model, name = fitted("dirichlet", theta), tiny("dirichlet")
    exact = []
    for i in range(2):
        both, one = COUNTS[i : i + 1] + more[i : i + 1], COUNTS[i : i + 1]
        log_p = [reference.enumerate_components(name, w, theta)[0] for w in (both, one)]
        log_c = [reference.log_constant(name, w) for w in (both, one, more[i : i + 1])]
        exact.append(log_p[0] - log_c[0] - log_p[1] + log_c[1] + log_c[2])
    np.testing.assert_allclose(log_what_if(model, COUNTS, more, 4000), exact, atol=0.05)


@pytest.mark.parametrize("method", ["annealed", "reverse", "harmonic"])
@pytest.mark.parametrize("name", ["dirichlet", "dirichlet in groups", "gamma-poisson"])
def test_evidence_is_the_sum_over_components(name, method):
    beta = np.full(2, 0.5)
    exact, _, _ = reference.enumerate_components(tiny(name)._replace(beta=beta), COUNTS)
    kind, groups = MODELS[name]
    model = DiscretePCA(2, family=kind, groups=groups, alpha=ALPHA, beta=beta, eta=ETA)
    found = log_evidence(model, COUNTS, method=method, n_steps=100, n_chains=20, random_state=0)
    assert found.value == pytest.approx(exact, abs=0.3 if method == "harmonic" else 0.08)


def test_annealing_forth_and_back_brackets_the_evidence_and_closes_with_steps():
    table, model = corpus(40)[0], DiscretePCA(3, alpha=0.5, eta=0.05)
    low, high = (
        [log_evidence(model, table, method=method, n_steps=n, random_state=0).chains.mean()
         for n in (10, 40, 150)]
        for method in ("annealed", "reverse")
    )  # fmt: skip
    assert low[0] < low[1] < low[2] < high[2]
    assert high[0] > high[1] > high[2]
    assert high[2] - low[2] < 0.2 * (high[0] - low[0])


def test_document_evidence_is_asked_of_discrete_pca_only():
    model = fz.PLSA(2, random_state=0).fit(corpus(12)[0])
    for ask in (table_evidence, row_log_likelihood):
        with pytest.raises(TypeError, match="DiscretePCA only; PLSA has score_samples"):
            ask(model, corpus(12)[0])


def test_asking_for_the_evidence_does_not_make_a_model_fitted():
    model = fz.DiscretePCA(2, random_state=0)
    one = log_evidence(model, corpus(12)[0].tolist(), n_steps=5, n_chains=1)
    assert np.isfinite(one.value)
    assert one.error == np.inf, "a single chain says nothing of its error"
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_the_left_to_right_estimate_is_unbiased():
    """Few particles, many runs: means of exp(estimate) in Monte Carlo standard errors."""
    theta = family_of("dirichlet").normalise(np.random.default_rng(2).random((4, 2)) ** 4 + 0.01)
    row = np.array([[2.0, 1, 1, 1]])
    exact = reference.enumerate_components(tiny("dirichlet"), row, theta)[0]
    model = fitted("dirichlet", theta)
    found = row_log_likelihood(model, np.repeat(row, 6000, axis=0), "left_to_right", n_draws=3)
    ratio = np.exp(found - exact)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio))
    # So its logarithm is low on average (Jensen), never high.
    assert found.mean() < exact


def test_half_of_a_rows_tokens_are_half_of_its_exposure():
    """Words of one component each: l_k given the shown half is Gamma(alpha + c, beta + 1/2)."""
    theta = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = DiscretePCA.from_components(
        theta, family="gamma-poisson", alpha=[0.7, 1.3], beta=[0.2, 3.0]
    )
    table = np.array([[9.0, 4.0], [3.0, 8.0], [20.0, 1.0]])
    shown, hidden = (half.toarray() for half in split_tokens(sparse.csr_array(table), 0))
    weights = (np.array([0.7, 1.3]) + shown) / (np.array([0.2, 3.0]) + 0.5)
    expected = (hidden * np.log(weights / weights.sum(axis=1, keepdims=True))).sum(axis=1)
    np.testing.assert_allclose(model.completion_samples(table), expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["annealed", "harmonic"])
def test_evidence_with_rates_that_differ_is_the_sum_over_components(method):
    exact, _, _ = reference.enumerate_components(tiny("gamma-poisson"), COUNTS)
    assert BETA[0] != BETA[1]
    model = DiscretePCA(2, family="gamma-poisson", alpha=ALPHA, beta=BETA, eta=ETA)
    found = log_evidence(model, COUNTS, method=method, n_steps=100, n_chains=20, random_state=0)
    assert found.value == pytest.approx(exact, abs=0.08 if method == "annealed" else 0.3)


@pytest.mark.parametrize("beta", [BETA, np.full(2, 0.5)], ids=["unequal", "equal"])
@pytest.mark.parametrize("name", ["gamma-multinomial", "gamma, poisson block"])
def test_evidence_of_the_general_model_is_the_sum_over_components(name, beta):
    exact, _, _ = reference.enumerate_components(tiny(name)._replace(beta=beta), COUNTS)
    kind, groups = MODELS[name]
    model = DiscretePCA(2, family=kind, groups=groups, alpha=ALPHA, beta=beta, eta=ETA)
    found = log_evidence(model, COUNTS, n_steps=100, n_chains=40, random_state=0)
    assert found.error < 0.06
    assert found.value == pytest.approx(exact, abs=0.06)
    with pytest.raises(ValueError, match='method="harmonic" needs'):
        log_evidence(model, COUNTS, method="harmonic", n_steps=2, random_state=0)


def test_without_multinomial_tokens_the_general_model_is_gamma_poisson():
    """Row 0 has no token outside the Poisson block, so nothing is left of the other group."""
    counts = np.array([[3.0, 1, 0, 0], [0, 2, 0, 0]])
    general = DiscretePCA(
        2, family="gamma-multinomial", groups=WITH_POISSON, alpha=ALPHA, beta=BETA, eta=ETA
    )
    plain = DiscretePCA(2, family="gamma-poisson", alpha=ALPHA, beta=BETA, eta=ETA)
    found = log_evidence(general, counts, n_steps=200, n_chains=30, random_state=0).value
    wanted = log_evidence(plain, counts[:, :2], n_steps=200, n_chains=30, random_state=0).value
    assert found == pytest.approx(wanted, abs=0.05)
