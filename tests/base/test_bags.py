"""One row score for all models of counts, and document completion under its own name."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multinomial, nbinom

import falsezero as fz
from falsezero.base.bags import log_orders, split_tokens
from falsezero.models.discrete_pca.family import Hyper
from falsezero.models.discrete_pca.lengths import log_length

TOTAL = 4
EVERY = np.array([b for b in product(range(TOTAL + 1), repeat=3) if sum(b) == TOTAL], dtype=float)
"""All bags of four tokens over three columns."""


def three_topics(n_rows=200, seed=0):
    """Rows of 40 tokens, nearly all of one of three groups of columns."""
    rng = np.random.default_rng(seed)
    theta = np.repeat(np.eye(3), 5, axis=1) / 5
    weights = rng.dirichlet(np.full(3, 0.2), size=n_rows)
    return np.array([rng.multinomial(40, p / p.sum()) for p in weights @ theta])


THETA = [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]
KNOWN = {
    "dirichlet": fz.DiscretePCA.from_components(THETA, alpha=0.5),
    "one rate": fz.DiscretePCA.from_components(THETA, family="gamma-poisson", alpha=0.5, beta=0.2),
    "two rates": fz.DiscretePCA.from_components(
        THETA, family="gamma-poisson", alpha=[0.7, 1.3], beta=[0.2, 2.0]
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_bags_of_one_total_have_probability_one(name):
    assert np.exp(KNOWN[name].score_samples(EVERY)).sum() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("kind", [fz.PLSA, fz.UnigramMixture])
def test_bags_of_one_total_have_probability_one_in_baselines(kind):
    table = np.random.default_rng(0).poisson(2.0, (20, 3))
    model = kind(2, random_state=0).fit(table)
    assert np.exp(model.score_samples(EVERY)).sum() == pytest.approx(1, abs=1e-6)


def test_one_component_is_the_same_in_all_models():
    table = three_topics(50)
    # A prior of nearly nothing leaves maximum likelihood.
    models = [fz.PLSA(1), fz.UnigramMixture(1), fz.DiscretePCA(1, eta=1e-9)]
    share = table.sum(axis=0) / table.sum()
    for model in models:
        found = model.fit(table).score_samples(table)
        np.testing.assert_allclose(found, multinomial.logpmf(table, 40, share), rtol=1e-6)


def test_a_gamma_poisson_score_leaves_the_total_out():
    """With one rate, gammas given their sum are a Dirichlet."""
    rows = np.array([[3.0, 1, 0], [0, 0, 7], [0, 0, 0]])
    np.testing.assert_allclose(
        KNOWN["one rate"].score_samples(rows), KNOWN["dirichlet"].score_samples(rows)
    )


def test_a_row_in_groups_is_judged_given_the_total_of_each():
    theta = [[0.5, 0.5, 0.9, 0.1], [0.2, 0.8, 0.3, 0.7]]
    model = fz.DiscretePCA.from_components(theta, groups=["a", "a", "b", "b"], alpha=0.5)
    every = [[a, 2 - a, b, 1 - b] for a in range(3) for b in range(2)]
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1, abs=0.02)
    assert model.capabilities.row_score == "bag by group"
    assert fz.DiscretePCA(groups=["a", "a"]).capabilities.row_score == "bag"


@pytest.mark.parametrize("beta", [[0.3, 0.3], [0.3, 2.0]])
def test_totals_are_sums_of_negative_binomials(beta):
    alpha, beta = np.array([0.4, 1.5]), np.array(beta)
    each = [nbinom.pmf(np.arange(41), a, b / (1 + b)) for a, b in zip(alpha, beta, strict=True)]
    expected = np.convolve(*each)[:41]
    found = log_length(Hyper(alpha, beta), np.arange(41.0))
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-10)


def test_long_rows_do_not_underflow():
    found = log_length(Hyper(np.full(3, 300.0), np.array([0.1, 0.2, 30.0])), np.array([2e4]))
    assert -3000 < found[0] < -100
    between = log_length(Hyper(np.ones(2), np.array([1.0, 3.0])), np.array([1.0, 1.5, 2.0]))
    assert between[1] == pytest.approx((between[0] + between[2]) / 2)


def test_orders():
    values = sparse.csr_array([[2, 1, 1], [0, 0, 0], [0, 3, 2]])
    np.testing.assert_allclose(np.exp(log_orders(values)), [12, 1, 10])


def test_cells_not_observed_are_left_out_of_the_bag():
    table = np.random.default_rng(0).poisson(2.0, (20, 3)).astype(float)
    for model in (fz.PLSA(2, random_state=0), fz.UnigramMixture(2, random_state=0)):
        model.fit(table)
        pairs = np.array([[a, 3.0 - a, np.nan] for a in range(4)])
        assert np.exp(model.score_samples(pairs)).sum() == pytest.approx(1, abs=1e-6)
        with pytest.raises(ValueError, match="completes only rows without missing cells"):
            model.completion_samples(pairs)


@pytest.mark.parametrize("kind", [fz.PLSA, fz.UnigramMixture, fz.DiscretePCA])
def test_completion_is_half_a_row_given_the_other(kind):
    table = three_topics(60)
    model = kind(3, random_state=0).fit(table)
    shown, hidden = (half.toarray() for half in split_tokens(sparse.csr_array(table)))
    p = model.transform(shown) @ model.components_
    expected = np.where(hidden > 0, hidden * np.log(np.maximum(p, 1e-300)), 0).sum(axis=1)
    np.testing.assert_allclose(model.completion_samples(table), expected, rtol=1e-4, atol=1e-4)
    score = model.completion_samples(table).sum() / hidden.sum()
    assert model.completion_score(table) == pytest.approx(score)
    assert model.completion_perplexity(table) == pytest.approx(np.exp(-score))


def test_one_topic_does_not_beat_three():
    """Scores of half a row (-63) once stood beside scores of whole rows (-117)."""
    models = {
        "plsa": fz.PLSA(3, tol=1e-5),
        "mixture": fz.UnigramMixture(3),
        "three": fz.DiscretePCA(3, alpha=0.2),
        "one": fz.DiscretePCA(1),
        "gammas": fz.DiscretePCA(1, family="gamma-poisson"),
    }
    for criterion in ("rows", "completion"):
        found = fz.compare(models, three_topics(), criterion, n_splits=2, random_state=0)
        ranks = found.table["model"].tolist()
        assert found.best == "three"
        assert ranks.index("plsa") < min(ranks.index("one"), ranks.index("gammas"))
        ones = [found.scores[name].mean() for name in ("one", "gammas")]
        assert ones[0] == pytest.approx(ones[1], rel=1e-6)
    assert "half of a hidden row's tokens given the other half" in repr(found)


def test_a_row_has_its_score_in_any_company():
    table = three_topics(12)
    model = fz.DiscretePCA(3, family="gamma-poisson", inference="mean_field", random_state=0)
    whole = model.fit(table).score_samples(table)
    np.testing.assert_array_equal([model.score_samples(row[None])[0] for row in table], whole)
    np.testing.assert_array_equal(model.score_samples(table.astype(np.float32)), whole)
