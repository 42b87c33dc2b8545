"""Reading aids on every model that has topics, and a sentence for those that have none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.analysis.topics import (
    _log_bayes_factor,
    best_rows,
    distinctive_words,
    page_rank,
    top_words,
)

WORDS = ["bone", "tooth", "site", "vote", "party", "bill"]


@pytest.fixture(scope="module")
def letters():
    """Twelve letters, half about bones and half about votes."""
    rng = np.random.default_rng(0)
    rates = np.repeat([[4, 3, 2, 0, 0, 0], [0, 0, 0, 4, 3, 2]], 6, axis=0)
    return fz.Table(rng.poisson(rates), rows=[f"letter {i}" for i in range(12)], columns=WORDS)


TOPIC_MODELS = [fz.PLSA(2), fz.UnigramMixture(2), fz.DiscretePCA(2)]
TOPIC_MODELS += [fz.AspectBernoulli(2, binarize=0.0), fz.BernoulliMixture(2, binarize=0.0)]


@pytest.mark.parametrize("model", TOPIC_MODELS, ids=lambda model: type(model).__name__)
def test_every_topic_model_is_read_the_same_way(model, letters):
    model = model.set_params(random_state=0).fit(letters)
    halves = [set(WORDS[:3]), set(WORDS[3:])]
    strongest = top_words(model, 2)
    assert list(strongest["rank"]) == [1, 2, 1, 2]
    telling, rows = distinctive_words(model, letters, 4), best_rows(model, letters, 3)
    for k in range(2):
        top = set(strongest["word"][strongest["component"] == k])
        (own,) = (half for half in halves if top <= half)
        assert set(telling["word"][telling["component"] == k]) <= own
        numbers = [int(row.split()[1]) for row in rows["row"][rows["component"] == k]]
        assert {number < 6 for number in numbers} == {own == halves[0]}


def test_only_words_that_tell_are_listed(letters):
    model = fz.PLSA(2, random_state=0).fit(letters)
    found = distinctive_words(model, letters, 6)
    assert np.isfinite(found["log_bayes_factor"]).all()
    assert len(found) < 12
    assert len(distinctive_words(fz.PLSA(1).fit(letters), letters)) == 0


def test_cells_not_observed_have_no_tokens(letters):
    values = letters.to_numpy()
    values[0, 0] = values[7, 4] = np.nan
    holes = letters.with_values(values)
    model = fz.PLSA(2, random_state=0).fit(holes)
    assert np.isfinite(distinctive_words(model, holes)["log_bayes_factor"]).all()
    assert np.isfinite(best_rows(model, holes)["share"]).all()


def test_a_frame_keeps_its_row_labels(letters):
    frame = letters.to_pandas()
    model = fz.PLSA(2, random_state=0).fit(frame)
    assert best_rows(model, frame).to_rows() == best_rows(model, letters).to_rows()


@pytest.mark.parametrize("ask", [distinctive_words, best_rows])
def test_components_of_both_signs_have_no_shares(ask, letters):
    model = fz.LogisticPCA(2, binarize=0.0, random_state=0, max_iter=20, tol=1e-2).fit(letters)
    with pytest.raises(TypeError, match="LogisticPCA has weights or components below zero"):
        ask(model, letters)


def test_a_row_without_sources_belongs_to_all_of_them_alike():
    X = np.zeros((6, 4))
    X[:3, :2] = 1
    model = fz.NoisyOr(2, random_state=0, max_iter=20).fit(X)
    model.transform = lambda X: np.array([[0.0, 0.0], *[[0.5, 0.1]] * 5])
    assert np.isfinite(best_rows(model, X)["share"]).all()
    np.testing.assert_allclose(page_rank(model, X, sparse.eye_array(6)).sum(axis=0), 1)


def test_words_can_be_named_after_the_fit(letters):
    model = fz.PLSA(2, random_state=0).fit(letters.to_numpy())
    words = top_words(model, 2, feature_names=WORDS)
    assert set(words["word"]) <= set(WORDS)
    assert set(distinctive_words(model, letters.to_numpy(), feature_names=WORDS)["word"]) <= set(
        WORDS
    )
    with pytest.raises(ValueError, match=r"needs one name per column \(6\)"):
        top_words(model, feature_names=WORDS[:2])


def test_findings_become_a_data_frame(letters):
    pd = pytest.importorskip("pandas")
    words = top_words(fz.PLSA(2, random_state=0).fit(letters), 2)
    frame = pd.DataFrame(words)
    assert list(frame.columns) == words.columns
    assert frame["word"].tolist() == words["word"].tolist()


def test_a_bayes_factor_is_a_gain_less_half_a_log_of_the_tokens():
    # 8 of 10 tokens here, 3 of 30 elsewhere, 11 of 40 in all.
    gain = 8 * np.log(8 / 10) + 2 * np.log(2 / 10) + 3 * np.log(3 / 30) + 27 * np.log(27 / 30)
    gain -= 11 * np.log(11 / 40) + 29 * np.log(29 / 40)
    found = _log_bayes_factor(np.array([8.0, 0.5]), 10.0, np.array([3.0, 20.0]), 30.0)
    assert found[0] == pytest.approx(gain - 0.5 * np.log(40), rel=1e-12)
    assert found[1] == -np.inf, "a word used less often is not listed"


def test_a_bayes_factor_survives_tokens_that_do_not_quite_add_up():
    # A component of one word: the sum over its words may round to less than the word itself.
    more = 10 * (1 + 1e-15)
    gain = 3 * np.log(3 / 30) + 27 * np.log(27 / 30) - 13 * np.log(13 / 40) - 27 * np.log(27 / 40)
    found = _log_bayes_factor(np.array([10.0, more]), 10.0, np.array([3.0, 3.0]), 30.0)
    assert more > 10
    np.testing.assert_allclose(found, gain - 0.5 * np.log(40), rtol=1e-12)
