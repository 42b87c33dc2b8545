import numpy as np
import pytest
from tests.reference.binary_ica import exact_log_evidence

import falsezero as fz
from falsezero.analysis.evidence import log_evidence
from falsezero.datasets import make_aspect_bernoulli

TINY = np.array([[1, 0, 1], [1, 1, 0], [0, np.nan, 0]], dtype=float)


PRIORS = {"alpha0": 0.5, "beta0": 0.7, "gamma0": 0.8}


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_it_agrees_with_the_sum_over_all_assignments(n_components):
    model = fz.BinaryICA(n_components, **PRIORS, random_state=0).fit(TINY)
    found = log_evidence(model, TINY, n_chains=250, n_steps=40, random_state=1)
    exact = exact_log_evidence(TINY, n_components, **PRIORS)
    assert found.error < 0.1
    assert abs(found.value - exact) < 4 * found.error + 1e-6


def test_the_check_can_fail():
    """Other priors give another evidence, by many standard errors."""
    model = fz.BinaryICA(2, **{**PRIORS, "beta0": 3.0}, random_state=0).fit(TINY)
    found = log_evidence(model, TINY, n_chains=250, n_steps=40, random_state=1)
    exact = exact_log_evidence(TINY, 2, **PRIORS)
    assert abs(found.value - exact) > 10 * found.error


def test_it_finds_what_the_bound_misses():
    """Rows that mix heavily: the bound wants one component, the evidence the true three."""
    made = make_aspect_bernoulli(150, 30, 3, concentration=1.0, shape=(0.5, 0.5), random_state=1)
    bounds, estimates = [], []
    for k in range(1, 5):
        model = fz.BinaryICA(k, n_init=3, random_state=0).fit(made.table)
        bounds.append(model.evidence_)
        found = log_evidence(model, made.table, n_chains=2, n_steps=300, random_state=0)
        estimates.append(found.value)
    assert int(np.argmax(bounds)) + 1 == 1
    assert int(np.argmax(estimates)) + 1 == 3
    assert estimates[0] == pytest.approx(bounds[0], abs=2)
    assert all(e > b for e, b in zip(estimates[1:], bounds[1:], strict=True))


@pytest.fixture(scope="module")
def fitted():
    table = make_aspect_bernoulli(40, 10, 2, random_state=0).table
    return fz.BinaryICA(2, random_state=0).fit(table), table


def test_longer_chains_agree_better(fitted):
    spreads = [
        log_evidence(*fitted, n_chains=12, n_steps=n, random_state=0).chains.std() for n in (5, 500)
    ]
    assert spreads[1] < spreads[0] / 2


def test_the_same_seed_gives_the_same_estimate_whatever_the_format(fitted):
    model, table = fitted
    first = log_evidence(model, table, n_chains=2, n_steps=20, random_state=3)
    again = log_evidence(model, table.values, n_chains=2, n_steps=20, random_state=3)
    np.testing.assert_array_equal(first.chains, again.chains)
    assert 1 <= first.effective_chains <= 2


def test_nothing_observed_is_certain():
    nothing = np.full((3, 2), np.nan)
    model = fz.BinaryICA(2, random_state=0).fit(nothing)
    found = log_evidence(model, nothing, n_chains=2, n_steps=5)
    assert found.value == pytest.approx(0.0, abs=1e-9)


def test_models_without_priors_and_other_tables_are_refused(fitted):
    for model in (fz.AspectBernoulli(2), fz.BinaryICA(2, inference="em")):
        with pytest.raises(TypeError, match="needs a prior on everything"):
            log_evidence(model.fit(TINY), TINY)
    with pytest.raises(ValueError, match="40 x 10, but this one is 39 x 10"):
        log_evidence(fitted[0], fitted[1].to_numpy()[:39])
    named = fz.Table(TINY, columns=["a", "b", "c"])
    turned = named.select(columns=["c", "a", "b"])
    with pytest.raises(ValueError, match="the same in another order"):
        log_evidence(fz.BinaryICA(2, random_state=0).fit(named), turned)
