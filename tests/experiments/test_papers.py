"""The heart of the experiments, on real data and in seconds; whole reports are run by hand."""

import os

import numpy as np
import pytest

from falsezero.data.corrupt import corrupt
from falsezero.data.table import Table
from falsezero.experiments._report import Report

needs_data = pytest.mark.skipif(
    not os.environ.get("FALSEZERO_DATA"), reason="FALSEZERO_DATA names no folder of data sets"
)


@needs_data
@pytest.mark.slow
def test_removing_the_phantom_beats_every_rival_on_a_subset():
    from falsezero.datasets import load_mfeat_digits
    from falsezero.experiments.aspect_bernoulli.digits import METHODS, removal_rates

    clean = load_mfeat_digits().table
    spoilt = corrupt(clean, omit=0.4, random_state=0)
    rows = np.arange(clean.shape[0]) % 5 == 0
    rates = removal_rates(clean.select(rows=rows), spoilt.select(rows=rows), 14)
    assert max(rates, key=rates.get) == METHODS[0]
    assert rates[METHODS[0]] > 0.77


@needs_data
def test_fossils_have_one_phantom_that_fills_gaps():
    from falsezero.datasets import load_fossils
    from falsezero.experiments.aspect_bernoulli.fossils import aspects
    from falsezero.experiments.aspect_bernoulli.gaps import gaps

    report = Report("fossils", "", quick=True)
    data = load_fossils()
    gaps(report, data, aspects(report, data))
    verdicts = {row["claim"]: row["verdict"] for row in report.claims.to_rows()}
    assert verdicts["one of four aspects is a white phantom"] == "holds"
    assert verdicts["the phantom is strong where finds are few"] == "holds"
    filled = "the same, counting only the gaps filled, not the ones added outside"
    assert verdicts[filled] == "holds"


def test_the_toy_of_binary_ica_never_falls():
    from falsezero.experiments.binary_ica.toy import steps

    report = Report("toy", "", quick=True)
    steps(report)
    verdicts = {row["claim"]: row["verdict"] for row in report.claims.to_rows()}
    assert verdicts["the evidence bound never falls"] == "holds"
    assert verdicts["inner loops get shorter over time"] == "holds"


def test_the_steps_of_binary_ica_are_the_formulas():
    from tests.reference import binary_ica as slow

    from falsezero.experiments.binary_ica import toy

    rng = np.random.default_rng(0)
    x = (rng.random((7, 5)) < 0.4).astype(float)
    q = toy.Posterior(*(1 + rng.random(s) for s in ((3, 5), (3, 5), (7, 3))))
    log_a = slow.expected_log_weights(q.gamma)
    full = slow.responsibilities(x, log_a, q.alpha, q.beta)
    renewed = toy._renewed(x, q, "E")
    for ours, formula in zip(renewed[:2], slow.source_counts(x, full, 0.5, 0.5), strict=True):
        np.testing.assert_allclose(ours, formula)
    np.testing.assert_allclose(toy._renewed(x, q, "M").gamma, 1 + full.sum(axis=1))
    bound = slow.bound(x, full, log_a, q.alpha, q.beta, (0.5, 0.5, 1.0), q.gamma)
    np.testing.assert_allclose(toy._bound(x, q), bound)


def test_the_iterations_of_aspect_bernoulli_are_the_formulas():
    from falsezero.experiments.aspect_bernoulli.iteration import (
        expected_log_likelihood,
        iterations,
        log_likelihood,
        uniform_start,
    )

    rng = np.random.default_rng(0)
    x = (rng.random((12, 8)) < 0.4).astype(float)
    start = uniform_start(x.shape, 3, rng)
    _, after = iterations(x, start, 1, weights_first=False)
    s, a = start
    made = np.where(x[..., None] == 1, a.T[None], 1 - a.T[None]) * s[:, None, :]
    q = made / made.sum(axis=2, keepdims=True)  # eq. 4
    np.testing.assert_allclose(after.weights, q.mean(axis=1))  # eq. 5
    ratio = (x[..., None] * q).sum(axis=0) / q.sum(axis=0)  # eq. 6
    np.testing.assert_allclose(after.components, ratio.T)
    log_s, log_a = np.log(after.weights)[:, None, :], np.log(ratio)[None]
    cells = log_s + x[..., None] * log_a + (1 - x[..., None]) * np.log1p(-ratio)[None]
    np.testing.assert_allclose(expected_log_likelihood(x, start), (q * cells).sum())  # eq. 3
    for first in (True, False):
        pairs = iterations(x, start, 40, weights_first=first)
        assert (np.diff([log_likelihood(x, pair) for pair in pairs]) > -1e-9).all()


def test_a_set_of_authors_has_the_same_bits_in_every_order():
    from falsezero.experiments.noisy_or.entropy import _score

    class Uniform:
        """Every token is drawn from four columns alike."""

        def score_samples(self, table):
            return table.to_numpy().sum(axis=1) * np.log(1 / 4)

    train = Table(np.array([[1, 1, 0, 0], [1, 0, 0, 0]]))
    test = Table(np.array([[1, 1, 0, 0]]))
    # Two orders of two authors, and a length of 2 in (1 + 1) of (2 + 5) cases.
    expected = -np.log2(2 * (1 / 4) ** 2 * 2 / 7)
    np.testing.assert_allclose(_score("PLSA", Uniform(), train, test), expected)


def test_akaike_takes_the_best_start_of_every_order():
    from falsezero.datasets import make_aspect_bernoulli
    from falsezero.experiments.aspect_bernoulli.choice import akaike

    table = make_aspect_bernoulli(80, 20, 2, concentration=0.1, random_state=0).table
    report = Report("orders", "", quick=True)
    chosen = akaike(report, "Figure 3", "toys", table, (1, 2, 3), 2)
    assert report.claims["verdict"].tolist() == ["holds"]
    assert chosen == 2


def test_sentences_of_the_slides_are_read_off_the_curves():
    from falsezero.experiments.discrete_pca.algorithms import ALGORITHMS, Curve, facts_of

    curves = dict.fromkeys(ALGORITHMS, Curve([1.0, 2.0, 3.0], [900.0, 800.0, 800.0]))
    curves["mean field"] = Curve([1.0, 2.0, 3.0], [850.0, 850.0, 860.0])
    curves["direct Gibbs"] = Curve([1.0, 2.0, 3.0], [950.0, 900.0, 820.0])
    facts = facts_of(curves)
    assert facts == (True, False, True, True, True)
    curves["mean field, inner loop"] = Curve([1.0], [870.0])
    curves["direct Gibbs"] = Curve([1.0, 2.0, 3.0], [700.0, 700.0, 700.0])
    curves["Rao-Blackwellised Gibbs"] = Curve([0.5, 3.0], [800.0, 790.0])
    assert facts_of(curves) == (False, True, False, True, True)


def test_weighted_cosine_of_a_perfect_match_is_one():
    from falsezero.experiments.noisy_or.citations import _weighted_cosines

    class Fit:
        components_ = np.eye(4)[[2, 0, 1]]
        priors_ = np.array([0.5, 0.2, 0.1])

    at, value = _weighted_cosines([Fit()], np.eye(4)[:3])
    assert at.tolist() == [1, 2, 3]
    np.testing.assert_allclose(value, 1.0)
    _, half = _weighted_cosines([Fit()], np.array([[0, 0, 1.0, 1.0]]))
    np.testing.assert_allclose(half, np.sqrt(0.5))
