"""Coherence by hand on small tables, and against gensim where it is installed."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.coherence import COHERENCE_MEASURES, coherence


@pytest.fixture(scope="module")
def letters():
    rng = np.random.default_rng(1)
    return rng.poisson(rng.gamma(0.3, 2.0, (60, 12)))


@pytest.fixture(scope="module")
def model(letters):
    return fz.PLSA(3, random_state=0).fit(letters)


def test_npmi_by_hand():
    # Words 0 and 1 share 2 of 4 rows; each occurs in 2 and 3 of them.
    table = np.array([[1, 1, 0], [2, 1, 0], [0, 1, 1], [0, 0, 1]])
    model = fz.PLSA(1).fit(table)
    by_hand = []
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        joint = np.mean((table[:, i] > 0) & (table[:, j] > 0)) + 1e-12
        alone = np.mean(table[:, i] > 0) * np.mean(table[:, j] > 0)
        by_hand.append(np.log(joint / alone) / -np.log(joint))
    found = coherence(model, table, measure="npmi", n=3)
    np.testing.assert_allclose(found["coherence"], np.mean(by_hand), rtol=1e-12)


def test_u_mass_by_hand():
    table = np.array([[4, 1], [2, 1], [1, 0], [0, 1]])
    model = fz.PLSA(1).fit(table)
    assert model.components_[0, 0] > model.components_[0, 1]
    found = coherence(model, table, measure="u_mass", n=2)
    np.testing.assert_allclose(found["coherence"], np.log(2 / 3), rtol=1e-9)


def test_words_of_one_topic_cohere_more_than_a_mixture_of_topics():
    rates = np.repeat([[4, 3, 2, 0, 0, 0], [0, 0, 0, 4, 3, 2]], 30, axis=0)
    table = np.random.default_rng(0).poisson(rates)
    for measure in COHERENCE_MEASURES:
        two = coherence(fz.PLSA(2, random_state=0).fit(table), table, measure=measure, n=3)
        one = coherence(fz.PLSA(1).fit(table), table, measure=measure, n=6)
        assert two["coherence"].min() > one["coherence"][0]


@pytest.mark.parametrize(
    ("measure", "theirs"), [("npmi", "c_npmi"), ("c_v", "c_v"), ("u_mass", "u_mass")]
)
def test_agrees_with_gensim(model, letters, measure, theirs):
    gensim = pytest.importorskip("gensim", reason="gensim belongs to the bench extra")
    from gensim.models import CoherenceModel

    texts = [[str(j) for j in np.repeat(np.arange(12), row)] for row in letters]
    dictionary = gensim.corpora.Dictionary(texts)
    topics = [
        [str(j) for j in np.argsort(-theta, kind="stable")[:5]] for theta in model.components_
    ]
    reference = CoherenceModel(
        topics=topics,
        texts=texts,
        corpus=[dictionary.doc2bow(text) for text in texts],
        dictionary=dictionary,
        coherence=theirs,
        window_size=None if theirs == "u_mass" else 10_000,
        processes=1,
    ).get_coherence_per_topic()
    found = coherence(model, letters, measure=measure, n=5)["coherence"]
    np.testing.assert_allclose(found, reference, rtol=1e-6)


def test_sentences_for_wrong_arguments(model, letters):
    with pytest.raises(ValueError, match=r"measure='cv' is not known; choose one of npmi, c_v"):
        coherence(model, letters, measure="cv")
    with pytest.raises(ValueError, match="n=1 must be at least 2"):
        coherence(model, letters, n=1)
