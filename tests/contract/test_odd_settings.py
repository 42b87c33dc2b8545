"""Settings and rows at the edge: thresholds that are none, numbers below zero, hardly any cell."""

import warnings

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.coherence import coherence
from falsezero.analysis.topics import best_rows, distinctive_words, top_words
from falsezero.models import MODELS, REGISTRY, model_class

SMALL = {"n_components": 3, "max_iter": 10, "n_chains": 1, "warmup": 3, "n_draws": 4}
SMALL |= {"random_state": 0}
BINARY = [name for name in REGISTRY if "binarize" in model_class(name)().get_params()]
SCORED = [
    name
    for name in MODELS
    if model_class(name)().capabilities.table == "binary"
    and model_class(name)().capabilities.row_score is not None
]


def make(name, **more):
    known = model_class(name)().get_params()
    return model_class(name)(**{k: v for k, v in {**SMALL, **more}.items() if k in known})


def table(dtype=float):
    return (np.random.default_rng(0).random((30, 8)) < 0.5).astype(dtype)


@pytest.mark.parametrize("threshold", [np.nan, np.inf])
@pytest.mark.parametrize("name", BINARY)
def test_a_threshold_is_a_number(name, threshold):
    with pytest.raises(ValueError, match="binarize"):
        make(name, binarize=threshold).fit(table())


@pytest.mark.parametrize("name", SCORED)
def test_no_row_is_more_than_certain(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(name).fit(table(np.float32))
        for seed in range(3):
            X = table(np.float32)
            X[np.random.default_rng(seed).random(X.shape) < 0.9] = np.nan
            assert (model.score_samples(X) <= 0).all()


@pytest.mark.filterwarnings("ignore")
def test_no_list_has_less_than_nothing():
    X = table()
    aspect = fz.AspectBernoulli(2, random_state=0).fit(X)
    topics = fz.PLSA(2, random_state=0).fit(X)
    asked = [
        lambda n: fz.false_absences(aspect, X, keep=[0, 1], n=n),
        lambda n: fz.surprising_zeros(aspect, X, n=n),
        lambda n: fz.explain(aspect, X, n=n),
        lambda n: fz.expand(aspect, X, keep=[0, 1], n=n),
        lambda n: top_words(topics, n),
        lambda n: coherence(topics, X, n=n),
        lambda n: best_rows(topics, X, n),
        lambda n: distinctive_words(topics, X, n),
        lambda n: fz.NoisyOr(2, random_state=0, max_iter=3).fit(X).communities(n),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match="n=-1"):
            ask(-1)


@pytest.mark.parametrize("name", ["plsa", "unigram-mixture", "beals", "discrete-pca"])
def test_values_beyond_double_precision_are_refused(name):
    X = table()
    X[3, 2] = 1e308
    with pytest.raises(ValueError, match=r"1e\+308|zeros and ones"):
        make(name).fit(X)


@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_precision_counts_make_numpy_silent():
    assert np.isfinite(make("plsa").fit(table(np.float32)).components_).all()
