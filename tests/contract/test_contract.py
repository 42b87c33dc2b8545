"""Every model, one contract: a new one is found by its name in `falsezero.models.MODELS`."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import falsezero as fz
from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import OptimisedModel
from falsezero.base.links import LINKS
from falsezero.base.sampled import SampledModel
from falsezero.models import MODELS, model_class

SAMPLED = [name for name in MODELS if issubclass(model_class(name), SampledModel)]
OPTIMISED = [name for name in MODELS if issubclass(model_class(name), OptimisedModel)]
DECLARED = {name: model_class(name)().capabilities for name in MODELS}
BINARY = [name for name in OPTIMISED if DECLARED[name].table == "binary"]
CAUSES = [name for name in OPTIMISED if DECLARED[name].cell_has_cause]
TAKES_NAN = [name for name in MODELS if DECLARED[name].leaves_cells_out]
LINKED = [name for name in OPTIMISED if DECLARED[name].link is not None]

quick = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


SMALL = {"n_components": 3, "max_iter": 60, "n_row_features": 2, "n_column_features": 2}
SMALL |= {"n_chains": 1, "warmup": 6, "n_draws": 8, "binarize": 0.0, "random_state": 0}


def make(name, **options):
    """A small, quick instance of a model, with as many of the options as it has."""
    known = model_class(name)().get_params()
    given = {key: value for key, value in {**SMALL, **options}.items() if key in known}
    return model_class(name)(**given)


def table(seed=0, shape=(40, 12)):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(2), shape[0]) @ rng.random((2, shape[1]))
    return (rng.random(shape) < p).astype(float)


@pytest.fixture(autouse=True)
def _no_convergence_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize("name", OPTIMISED)
def test_scikit_learn_accepts_it(name):
    # Its sparse check counts on four columns of predict_proba where there is one.
    check_estimator(make(name, n_components=4))


@pytest.mark.parametrize("name", OPTIMISED)
def test_the_objective_never_falls(name):
    model = make(name, max_iter=200).fit(table())
    history = model.history_
    assert len(history) > 3
    for before, after in pairwise(history):
        if not after.get("rebased"):
            slack = 1e-8 * abs(before["objective"])
            assert after["objective"] >= before["objective"] - slack


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_fit(name):
    one, two = (make(name, random_state=3).fit(table()) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)
    other = make(name, random_state=4).fit(table())
    assert not np.array_equal(one.components_, other.components_)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_stored_untouched(name):
    model = make(name)
    before = {key: repr(value) for key, value in model.get_params().items()}
    twin = clone(model).fit(table())
    assert {key: repr(value) for key, value in twin.get_params().items()} == before


@pytest.mark.parametrize("name", MODELS)
def test_labels_come_out_where_labels_went_in(name):
    labels = [f"site {i}" for i in range(40)]
    names = [f"genus {i}" for i in range(12)]
    given_table = fz.as_table(table(), rows=labels, columns=names)
    model = make(name).fit(given_table)
    assert list(model.feature_names_in_) == names
    weights = model.transform(given_table)
    assert list(weights.rows) == labels
    clean = model.reconstruct(given_table)
    assert list(clean.columns) == names
    assert list(clean.rows) == labels


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_a_table_come_in_the_container_asked_for(name):
    labels = [f"site {i}" for i in range(40)]
    given_table = fz.as_table(table(), rows=labels)
    model = make(name, max_iter=5).fit(given_table)
    plain = model.transform(given_table).to_numpy()
    with config_context(transform_output="pandas"):
        for frame in (model.transform(given_table), model.fit_transform(given_table)):
            assert list(frame.index) == labels
            assert list(frame.columns) == list(model.get_feature_names_out())
            np.testing.assert_allclose(frame, plain)
    assert model.set_output(transform="polars").transform(given_table).shape == plain.shape


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_fit_is_the_same_fit(name, tmp_path):
    model = make(name).fit(table())
    fz.save(model, tmp_path / "model.fz")
    back = fz.load(tmp_path / "model.fz")
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.components_, model.components_)
    np.testing.assert_allclose(back.transform(table(1)), model.transform(table(1)))
    np.testing.assert_allclose(back.score_samples(table(1)), model.score_samples(table(1)))


@pytest.mark.parametrize("name", MODELS)
def test_sparse_input_means_the_same_table(name):
    dense = make(name).fit(table())
    thin = make(name).fit(sparse.csr_array(table()))
    np.testing.assert_allclose(thin.objective_, dense.objective_, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_is_judged_by_itself(name):
    model = make(name).fit(table())
    odd = np.vstack([np.ones(12), np.zeros(12), np.arange(12) % 2, table(1)[:3]])
    alone = [model.score_samples(row[None]) for row in odd]
    in_company = model.score_samples(np.vstack([odd, table()]))[:6]
    np.testing.assert_allclose(np.concatenate(alone), in_company, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OPTIMISED)
def test_rows_may_come_in_another_precision_than_the_fit(name):
    X = table()
    X[:, 0], X[:, 1] = 1, 0
    model = make(name).fit(X)
    contrary = X.copy()
    contrary[:, 0], contrary[:, 1] = 0, 1
    for answer in (model.transform, model.score_samples, model.reconstruct):
        # What was never seen has a floor, which is higher in single precision.
        assert np.isfinite(answer(contrary.astype(np.float32))).all()
        np.testing.assert_allclose(answer(X.astype(np.float32)), answer(X), atol=2e-2, rtol=1e-3)


@pytest.mark.parametrize("name", OPTIMISED)
def test_components_may_die_out_in_single_precision(name):
    X = np.kron(np.eye(3), np.ones((20, 40))).astype(np.float32)
    model = whole(make(name, n_components=8), X)
    assert model.transform(X).dtype == np.float32


@pytest.mark.parametrize("name", MODELS)
def test_the_callers_arrays_stay_as_they_are(name):
    # Stored zeros, indices out of order, and memory that nobody may write to.
    untidy = sparse.csr_array(
        ([1.0, 0.0, 1.0, 1.0, 1.0], [2, 1, 0, 1, 0], [0, 3, 4, 5]), shape=(3, 3)
    )
    dense = untidy.toarray()
    for array in (untidy.data, untidy.indices, untidy.indptr, dense):
        array.flags.writeable = False
    tidy = make(name).fit(dense)
    model = make(name).fit(untidy)
    np.testing.assert_allclose(model.objective_, tidy.objective_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.transform(untidy), tidy.transform(dense), atol=1e-3)
    assert untidy.indices.tolist() == [2, 1, 0, 1, 0]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("keep", [[1], [1, 1, -1], [1, 1, 2], [[1, 1, 1]], [1, np.nan, 1]])
def test_a_word_on_components_that_makes_no_sense_is_refused(name, keep):
    with pytest.raises(ValueError, match="keep="):
        make(name, max_iter=3).fit(table()).reconstruct(table(), keep=keep)


@pytest.mark.parametrize("name", MODELS)
def test_new_rows_are_drawn_with_the_models_own_seed(name):
    with pytest.raises(NotFittedError):
        make(name).sample(2)
    model = make(name).fit(table())
    np.testing.assert_array_equal(model.sample(5), model.sample(5))
    assert not np.array_equal(model.sample(50), model.sample(50, random_state=1))


cells = st.sampled_from([0.0, 1.0])
maybe = st.sampled_from([0.0, 1.0, np.nan])
shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))


def whole(model, X):
    """Fit, transform, reconstruct and score, all of it finite."""
    model.fit(X)
    for result in (
        model.components_,
        model.transform(X),
        model.reconstruct(X),
        model.score_samples(X),
        model.objective_,
    ):
        assert np.isfinite(result).all()
    return model


@pytest.mark.parametrize("name", MODELS)
@quick
@given(data=st.data())
def test_no_table_is_too_odd(name, data):
    shape = data.draw(shapes)
    entries = maybe if name in TAKES_NAN else cells
    X = data.draw(arrays(float, shape, elements=entries))
    whole(make(name, max_iter=15, n_components=data.draw(st.integers(1, 4))), X)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fill", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (4, 6)])
def test_constant_tables_are_no_trouble(name, fill, shape):
    model = whole(make(name, n_components=5), np.full(shape, fill))
    if name in BINARY:
        expected = model.reconstruct(np.full(shape, fill))
        assert np.abs(expected - fill).max() < 0.5


@pytest.mark.parametrize("name", CAUSES)
@quick
@given(data=st.data())
def test_denoising_survives_any_table(name, data):
    X = data.draw(arrays(float, data.draw(shapes), elements=maybe))
    model = make(name, max_iter=15, n_components=2).fit(X)
    keep = [1.0, 0.5]
    clean = fz.denoise(model, X, keep=keep)
    assert np.isfinite(clean.probability.to_numpy()).all()
    assert set(np.unique(clean.binary.to_numpy())) <= {0.0, 1.0}
    for found in (fz.false_absences, fz.false_presences):
        doubtful = found(model, X, keep=keep, min_probability=0.0)
        assert np.isfinite(doubtful["probability"]).all()
    causes = fz.explain(model, X)
    assert np.isfinite(causes["posterior"]).all()


def test_every_model_is_of_one_kind():
    assert sorted([*SAMPLED, *OPTIMISED]) == sorted(MODELS)


@pytest.mark.parametrize("name", SAMPLED)
def test_draws_and_chains_are_there_to_be_judged(name):
    model = make(name, n_chains=2).fit(table())
    assert len(model.draws_) == 2 * SMALL["n_draws"]
    assert len(model.chains_) == 2
    assert all(len(trace) == SMALL["n_draws"] for trace in model.chains_[0].values())
    assert model.n_iter_ == SMALL["warmup"] + SMALL["n_draws"]
    assert model.posterior_predict().shape == table().shape


@pytest.mark.parametrize("name", MODELS)
def test_it_declares_what_it_can_be_asked(name):
    declared = model_class(name)().capabilities
    assert isinstance(declared, Capabilities)
    kind = model_class(name)
    assert hasattr(kind, "bic") == hasattr(kind, "aic") == (declared.sample_size is not None)
    assert hasattr(kind, "cell_posterior") == declared.cell_has_cause
    assert kind().__sklearn_tags__().input_tags.allow_nan == declared.leaves_cells_out


@pytest.mark.parametrize("name", LINKED)
def test_the_declared_link_is_the_one_it_reconstructs_by(name):
    model = make(name).fit(table())
    weights, link = np.asarray(model.transform(table())), LINKS[model.capabilities.link]
    for keep in (None, [1.0, 0.5, 0.25]):
        kept = weights if keep is None else weights * keep
        if link.weights_compete:
            kept = kept / kept.sum(axis=1, keepdims=True)
        expected = link.expected(kept, model.components_, model._link_offset)
        np.testing.assert_allclose(model.reconstruct(table(), keep), expected, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in OPTIMISED if DECLARED[n].sample_size == "rows"])
def test_a_criterion_that_counts_rows_does_not_see_cells_that_are_hidden(name):
    X = table()
    model = make(name).fit(X)
    penalty = model.bic() - model.aic() + 2 * model.n_parameters_
    assert penalty == pytest.approx(model.n_parameters_ * np.log(len(X)))


@pytest.mark.parametrize("name", [n for n in OPTIMISED if DECLARED[n].sample_size == "cells"])
def test_a_criterion_that_counts_cells_counts_those_observed(name):
    X = table()
    X[0, :5] = np.nan
    model = make(name).fit(X)
    penalty = model.bic() - model.aic() + 2 * model.n_parameters_
    assert penalty == pytest.approx(model.n_parameters_ * np.log(X.size - 5))


@pytest.mark.parametrize("name", [n for n in OPTIMISED if DECLARED[n].distributed])
def test_it_is_fitted_to_shards_as_to_the_whole_table(name, tmp_path):
    X = table()
    for i in range(2):
        np.save(tmp_path / f"{i}.npy", X[20 * i : 20 * (i + 1)])
    whole_fit = make(name, max_iter=10).fit(X)
    parts = make(name, max_iter=10).fit(fz.Shards([tmp_path / "0.npy", tmp_path / "1.npy"]))
    np.testing.assert_allclose(parts.objective_, whole_fit.objective_, rtol=1e-3)


@pytest.mark.parametrize("name", [n for n in MODELS if not DECLARED[n].distributed])
def test_shards_are_refused_by_models_that_cannot_take_them(name, tmp_path):
    np.save(tmp_path / "0.npy", table())
    with pytest.raises(TypeError, match="Shards"):
        model_class(name)().fit(fz.Shards([tmp_path / "0.npy"]))
