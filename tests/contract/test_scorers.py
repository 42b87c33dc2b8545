"""Every cell scorer, one contract: found by its name in `falsezero.models.SCORERS`."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import falsezero as fz
from falsezero.base import scorer
from falsezero.models import SCORERS, model_class

quick = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
every = pytest.mark.parametrize("name", SCORERS)


def table(seed=0, shape=(40, 12), missing=0.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(2), shape[0]) @ rng.random((2, shape[1]))
    X = (rng.random(shape) < p).astype(float)
    X[rng.random(shape) < missing] = np.nan
    return X


def as_sparse(X):
    """The same table with implicit zeros and stored NaN."""
    stored = np.where(X == 0, 0.0, 1.0)
    result = sparse.csr_array(stored)
    result.data = X[stored > 0]
    return result


@every
def test_scikit_learn_accepts_it(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        check_estimator(model_class(name)(binarize=0.0))


@every
def test_parameters_are_stored_untouched(name):
    model = model_class(name)()
    before = {key: repr(value) for key, value in model.get_params().items()}
    twin = clone(model).fit(table())
    assert {key: repr(value) for key, value in twin.get_params().items()} == before


@every
def test_labels_come_out_where_labels_went_in(name):
    rows = [f"site {i}" for i in range(40)]
    columns = [f"genus {i}" for i in range(12)]
    labelled = fz.as_table(table(), rows=rows, columns=columns)
    model = model_class(name)().fit(labelled)
    assert list(model.feature_names_in_) == columns
    for answer in (model.reconstruct(labelled), model.score_cells(labelled)):
        assert list(answer.rows) == rows
        assert list(answer.columns) == columns
    with pytest.raises(ValueError, match="not those that"):
        model.reconstruct(fz.as_table(table(), rows=rows, columns=columns[::-1]))


@every
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_saved_fit_is_the_same_fit(name, missing, tmp_path):
    model = model_class(name)().fit(table(missing=missing))
    fz.save(model, tmp_path / "model.fz")
    back = fz.load(tmp_path / "model.fz")
    assert type(back) is type(model)
    for ask in ("reconstruct", "score_cells"):
        new = table(1, missing=missing)
        np.testing.assert_array_equal(getattr(back, ask)(new), getattr(model, ask)(new))


@every
def test_a_file_with_arrays_of_another_size_is_refused(name, tmp_path):
    model = model_class(name)().fit(table())
    model.n_features_in_ = 11
    fz.save(model, tmp_path / "model.fz")
    with pytest.raises(ValueError, match="shapes do not match"):
        fz.load(tmp_path / "model.fz")


@every
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sparse_input_means_the_same_table(name, missing):
    X = table(shape=(60, 15), missing=missing)
    dense = model_class(name)().fit(X)
    thin = model_class(name)().fit(as_sparse(X))
    np.testing.assert_allclose(thin.reconstruct(as_sparse(X)), dense.reconstruct(X), atol=1e-9)


@every
def test_a_sparse_table_is_never_made_dense_as_a_whole(name, monkeypatch):
    X = sparse.random_array((300, 40), density=0.05, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1.0
    largest = 0
    make_dense = sparse.csr_array.toarray

    def watched(self, *arguments, **options):
        nonlocal largest
        largest = max(largest, self.shape[0] * self.shape[1])
        return make_dense(self, *arguments, **options)

    monkeypatch.setattr(scorer, "_BLOCK_CELLS", 30 * 300)
    monkeypatch.setattr(scorer, "_LINK_CELLS", 50 * 40)
    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    model = model_class(name)().fit(X)
    for _ in model.expected_by_block(X):
        pass
    assert largest < 300 * 40


@every
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_blocks_do_not_change_the_answer(name, missing, monkeypatch):
    X = table(missing=missing)
    whole = model_class(name)().fit(X).reconstruct(X)
    monkeypatch.setattr(scorer, "_BLOCK_CELLS", 200)
    model = model_class(name)().fit(X)
    assert len(list(model.expected_by_block(X))) > 2
    np.testing.assert_allclose(model.reconstruct(X), whole, atol=1e-9)


@every
def test_a_row_is_judged_by_itself(name):
    model = model_class(name)().fit(table())
    odd = np.vstack([np.ones(12), np.zeros(12), np.full(12, np.nan), table(1)[:3]])
    alone = [model.reconstruct(row[None]) for row in odd]
    together = model.reconstruct(np.vstack([odd, table()]))[:6]
    np.testing.assert_allclose(np.concatenate(alone), together, atol=1e-9)


@every
def test_probabilities_keep_the_order_of_the_scores(name):
    X = table(missing=0.1)
    model = model_class(name)().fit(X)
    scores, p = model.score_cells(X).ravel(), model.reconstruct(X).ravel()
    order = np.argsort(scores)
    assert (np.diff(p[order]) >= 0).all()
    assert ((p > 0) & (p < 1)).all()
    different = np.diff(scores[order]) > 1e-6
    assert (np.diff(p[order])[different] > 0).all()


@every
def test_probabilities_have_the_level_of_the_table(name):
    X = table(shape=(200, 20))
    p = model_class(name)().fit(X).reconstruct(X)
    assert p.mean() == pytest.approx(X.mean(), abs=0.02)


@every
def test_an_unfitted_model_says_so(name):
    with pytest.raises(NotFittedError):
        model_class(name)().reconstruct(table())


@every
def test_other_values_are_refused(name):
    with pytest.raises(ValueError, match=r"binarize=0\.0"):
        model_class(name)().fit([[0.0, 2.0], [1.0, 0.0]])


@every
@quick
@given(data=st.data())
def test_no_table_is_too_odd(name, data):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    X = data.draw(arrays(float, shape, elements=st.sampled_from([0.0, 1.0, np.nan])))
    model = model_class(name)().fit(X)
    p = model.reconstruct(X)
    assert p.shape == shape
    assert ((p >= 0) & (p <= 1)).all()
    assert np.isfinite(model.score_cells(X)).all()


@every
@pytest.mark.parametrize("fill", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (40, 6)])
def test_constant_tables_are_no_trouble(name, fill, shape):
    X = np.full(shape, fill)
    expected = model_class(name)().fit(X).reconstruct(X)
    assert np.abs(expected - fill).max() < 0.5
