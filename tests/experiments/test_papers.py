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
    from falsezero.experiments.aspect_bernoulli.digits import METHODS, removals

    clean = load_mfeat_digits().table
    spoilt = corrupt(clean, omit=0.4, random_state=0)
    rows = np.arange(clean.shape[0]) % 5 == 0
    found = removals(clean.select(rows=rows), spoilt.select(rows=rows), 14)
    rates = {name: of.rate for name, of in found.items()}
    assert max(rates, key=rates.get) == METHODS[0]
    assert rates[METHODS[0]] > 0.77


@needs_data
def test_fossils_have_one_phantom_that_fills_gaps():
    from falsezero.datasets import load_fossils
    from falsezero.experiments.aspect_bernoulli.fossils import aspects
    from falsezero.experiments.aspect_bernoulli.gaps import gaps

    report = Report("fossils", "", quick=True)
    data = load_fossils()
    filled = {name: of.filled for name, of in gaps(report, data, aspects(report, data)).items()}
    verdicts = {row["claim"]: row["verdict"] for row in report.claims.to_rows()}
    assert verdicts["one of four aspects is a white phantom"] == "holds"
    assert verdicts["the phantom is strong where finds are few"] == "holds"
    assert max(filled, key=filled.get) == "AB post-proc."


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
    q = toy.ToyPosterior(*(1 + rng.random(s) for s in ((3, 5), (3, 5), (7, 3))))
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
    from falsezero.models.baselines.plsa import PLSA
    from falsezero.models.baselines.unigram_mixture import UnigramMixture
    from falsezero.models.discrete_pca.discrete_pca import DiscretePCA

    # One component, so that every token is drawn from four columns alike.
    train = Table(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    test = Table(np.array([[1, 1, 0, 0]]))
    models = {
        "PLSA": PLSA(1).fit(train),
        "MixUnigrams": UnigramMixture(1).fit(train),
        "LDA": DiscretePCA.from_components(np.full((1, 4), 0.25), alpha=1.0),
    }
    # Two orders of two authors, and a length of 2 in (2 + 1) of (2 + 5) cases.
    expected = -np.log2(2 * (1 / 4) ** 2 * 3 / 7)
    for name, model in models.items():
        np.testing.assert_allclose(_score(name, model, train, test), expected, err_msg=name)


def test_akaike_takes_the_best_start_of_every_order():
    from falsezero.datasets import make_aspect_bernoulli
    from falsezero.experiments.aspect_bernoulli.choice import akaike

    table = make_aspect_bernoulli(80, 20, 2, concentration=0.1, random_state=0).table
    report = Report("orders", "", quick=True)
    chosen = akaike(report, "Figure 3", "toys", table, (1, 2, 3), 2)
    assert report.claims["verdict"].tolist() == ["holds"]
    assert chosen == 2


def test_starts_of_the_paper_are_uniform():
    from falsezero.data.blocks import Blocks
    from falsezero.experiments.aspect_bernoulli.choice import _from_uniform, _UniformSteps

    x = np.zeros((40, 3000))
    x[:, 0] = 1
    blocks = Blocks.cut(x)
    steps = _UniformSteps(2, blocks)
    state, (rows,) = steps.init(blocks, np.random.default_rng(0))
    for values, mean, spread in ((state.components, 1 / 2, 1 / 12), (rows.weights, 1 / 2, 1 / 12)):
        assert abs(values.mean() - mean) < 0.05
        assert abs(values.var() - spread) < 0.02
    model = _from_uniform(Table(x[:, :8]), 2, 0)
    assert model.log_likelihood_ > -1e-3


def test_sentences_of_the_slides_are_read_off_the_curves():
    from falsezero.experiments.discrete_pca.algorithms import ALGORITHMS, Curve, facts_of

    curves = dict.fromkeys(ALGORITHMS, Curve([1.0, 2.0, 3.0], [900.0, 800.0, 800.0]))
    curves["mean field"] = Curve([1.0, 2.0, 3.0], [850.0, 850.0, 860.0])
    curves["direct Gibbs"] = Curve([1.0, 2.0, 3.0], [950.0, 900.0, 820.0])
    facts = facts_of(curves)
    assert facts == (True, False, True, True, True, True, False)
    assert curves["direct Gibbs"].settles() == 3
    curves["mean field, inner loop"] = Curve([1.0], [870.0])
    curves["direct Gibbs"] = Curve([1.0, 2.0, 3.0], [700.0, 700.0, 700.0])
    curves["Rao-Blackwellised Gibbs"] = Curve([0.5, 3.0], [800.0, 790.0])
    assert facts_of(curves) == (False, True, False, False, True, True, False)


def test_bounds_of_the_evidence_decide_on_an_order_or_leave_it_open():
    from falsezero.experiments.discrete_pca.evidence import Bracket, _judge_order

    low, high = np.array([-9.0, -5.0, -8.0]), np.array([-6.0, -3.0, -4.0])
    bracket = Bracket(np.array([4, 8, 16]), low, high)
    report = Report("orders", "", quick=True)
    for wanted in ((8, 16), (8,), (4,)):
        _judge_order(report, "Estimating K", "K is best", bracket, wanted)
    verdicts = report.claims["verdict"].tolist()
    assert verdicts == ["holds", "cannot be tested", "does not hold"]
    assert "leave K = 8, 16 possible" in report.claims["found"][1]


def test_the_way_to_a_density_is_counted_in_sweeps():
    from falsezero.experiments.binary_matrix_factorization.bars import _path, _reached

    class Fit:
        n_iter_ = 3
        history_ = [
            {"chain": chain, "iteration": i, "objective": value - chain}
            for chain in (1, 0)
            for i, value in ((1, -9.0), (2, -5.0), (3, -4.0))
        ]

    assert _reached(Fit(), -6.0) == 2
    assert _reached(Fit(), 0.0) == np.inf
    assert _path(Fit(), 0.5) == ([0.5, 1.0, 1.5], [-9.0, -5.0, -4.0])


def test_regions_are_those_of_strong_pairs_with_many_cells():
    from falsezero.experiments.binary_matrix_factorization.genes import _regions

    u = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 1]])
    v = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0]])
    w = np.array([[0, 0, 0], [0, 0.5, 0.1], [0, 0.6, 0.1]])
    # Three rows at a weight of 0.5 count for more than one row at 0.6.
    assert _regions(u, v, w, n_pairs=1) == [(0, 3, 0, 2), (0, 3, 3, 4)]


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


def test_mixed_transitions_find_who_answers_whom():
    from falsezero.experiments.binary_ica.chat import N_LAGS, likely_lags, make_chat, network

    chat = make_chat(8000, 1)
    first = network(chat.speakers, np.ones(len(chat.speakers) - N_LAGS, dtype=int))
    mixed = network(chat.speakers, likely_lags(chat.speakers))
    right = [float((graph * chat.answers).sum() / graph.sum()) for graph in (first, mixed)]
    assert right[1] > 1.5 * right[0]


def test_lemmas_phrases_and_pairs_are_counted():
    from falsezero.experiments.discrete_pca.language import (
        Lemma,
        lemmas_and_phrases,
        verb_noun_pairs,
    )

    message = [
        Lemma("solar", "adjective"),
        Lemma("sail", "noun"),
        Lemma("the", ""),
        Lemma("orbit", "verb"),
        Lemma("the", ""),
        Lemma("moon", "noun"),
        Lemma("moon", "noun"),
    ]
    table, kinds = lemmas_and_phrases([message, message], least=2)
    counts = dict(zip(table.columns.tolist(), table.to_numpy()[0].tolist(), strict=True))
    assert counts == {
        "solar (adjective)": 1,
        "sail": 1,
        "moon": 2,
        "orbit (verb)": 1,
        "solar sail": 1,
        "moon moon": 1,
    }
    assert kinds.count("phrase") == 2
    verbs = [[*message[:3], Lemma(f"verb{i}", "verb"), *message[4:]] for i in range(5)]
    pairs = verb_noun_pairs(verbs, least=1)
    assert pairs.shape == (5, 2)
    assert sorted(pairs.toarray()[0].tolist()) == [1, 2]


def test_a_table_of_matches_counts_every_class():
    from falsezero.experiments.binary_ica.messages import _matches

    report = Report("groups", "", quick=True)
    target = np.array(["a", "a", "a", "b", "b", "b"])
    _matches(report, target, np.array([1, 1, 1, 0, 0, 2]), np.array([0, 0, 0, 0, 0, 1]))
    claim = report.claims.to_rows()[0]
    assert (claim["found"], claim["verdict"]) == ("100.0% against 66.7%", "holds")


def test_parts_of_a_report_have_their_cost(monkeypatch):
    clock = iter([10.0, 12.5, 20.0])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    report = Report("costs", "", quick=True)
    report.section("first")
    report.section("second")
    assert report.costs.to_rows() == [
        {"part": "first", "cpu_seconds": 2.5},
        {"part": "second", "cpu_seconds": 7.5},
    ]
