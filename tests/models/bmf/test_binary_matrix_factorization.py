"""BinaryMatrixFactorization as its users meet it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

import falsezero as fz
from falsezero import BinaryMatrixFactorization, Table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_chains": 1, "warmup": 30, "n_draws": 20, "random_state": 0}


def blocks(noise=0.1, seed=0, shape=(40, 24)):
    """Two overlapping clusters of rows and of columns, in real numbers."""
    rng = np.random.default_rng(seed)
    u, v = rng.random((shape[0], 2)) < 0.5, rng.random((shape[1], 2)) < 0.5
    clean = u @ np.array([[3.0, -2.0], [1.0, 2.5]]) @ v.T
    return clean, clean + noise * rng.standard_normal(shape)


def tables():
    clean, real = blocks()
    return {"gaussian": real, "logistic": (clean > 1) * 1.0, "poisson": np.round(np.abs(clean))}


@pytest.fixture(params=sorted(tables()), name="case")
def _case(request):
    return request.param, tables()[request.param]


@pytest.mark.parametrize("likelihood", ["gaussian", "logistic"])
def test_scikit_learn_accepts_it(likelihood):
    binarize = 0.0 if likelihood == "logistic" else None
    model = BinaryMatrixFactorization(
        2, likelihood=likelihood, binarize=binarize, n_chains=1, warmup=5, n_draws=5, random_state=0
    )
    check_estimator(model, on_skip=None)


def test_missing_cells_of_a_real_table_are_restored():
    clean, table = blocks(noise=0.3)
    rng = np.random.default_rng(1)
    missing = rng.random(table.shape) < 0.2
    model = BinaryMatrixFactorization(
        likelihood="gaussian", n_chains=2, warmup=150, n_draws=100, random_state=0
    ).fit(np.where(missing, np.nan, table))
    prediction = model.posterior_predict(interval=0.9)
    error = np.sqrt(((prediction.mean - clean)[missing] ** 2).mean())
    assert error < 0.25
    inside = (prediction.low < table) & (table < prediction.high)
    assert 0.8 < inside[missing].mean() < 0.98
    held_out = np.where(missing, table, np.nan)
    density = model.log_predictive(held_out)
    assert np.isnan(density[~missing]).all()
    # The density of the truth's own noise is the best that anybody can do.
    best = -0.5 * np.log(2 * np.pi * 0.09) - 0.5
    assert best - 0.3 < density[missing].mean() < best + 0.1


def test_it_answers_every_question(case):
    likelihood, table = case
    model = BinaryMatrixFactorization(likelihood=likelihood, **QUICK).fit(table)
    n, m = table.shape
    k, width = model.row_features_.shape[1], model.column_features_.shape[1]
    assert model.weights_.shape == (k, width)
    assert np.allclose(model.components_, model.weights_ @ model.column_features_.T)
    assert model.row_features_[:, 0].all()
    assert model.row_weights_.shape == (n, k)
    assert ((model.row_weights_ >= 0) & (model.row_weights_ <= 1)).all()
    assert model.transform(table).shape == (n, k)
    assert np.isfinite(model.score(table))
    assert model.sample(5, random_state=0).shape == (5, m)
    assert model.reconstruct(table).shape == (n, m)
    only_bias = model.reconstruct(table, keep=np.arange(k) == 0)
    assert np.allclose(only_bias, only_bias[0])
    low, high = model.posterior_predict(interval=0.8)[1:]
    assert (low <= high).all()
    rows, columns = model.picture_order()
    assert sorted(rows) == list(range(n))
    assert sorted(columns) == list(range(m))
    assert len(model.draws_) == 20
    assert len(model.history_) == 50


def test_new_rows_are_predicted_from_what_is_seen_of_them():
    clean, table = blocks(noise=0.2, shape=(60, 24))
    model = BinaryMatrixFactorization(
        likelihood="gaussian", n_chains=1, warmup=150, n_draws=50, random_state=0
    ).fit(table[:45])
    new = table[45:].copy()
    new[:, 12:] = np.nan
    error = (model.reconstruct(new) - clean[45:])[:, 12:]
    assert np.sqrt((error**2).mean()) < 0.5 * clean.std()


def test_the_answer_does_not_depend_on_threads(case):
    likelihood, table = case
    options = {"likelihood": likelihood, **QUICK, "n_chains": 3, "n_draws": 5}
    one = BinaryMatrixFactorization(n_jobs=1, **options).fit(table)
    three = BinaryMatrixFactorization(n_jobs=3, **options).fit(table)
    assert [d.log_joint for d in one.draws_] == [d.log_joint for d in three.draws_]


def test_known_features_stay_while_others_are_learnt():
    _, table = blocks()
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(2, size=(40, 2)), rng.integers(2, size=(24, 1))
    model = BinaryMatrixFactorization(
        likelihood="gaussian", known_rows=rows, known_columns=columns, **QUICK
    ).fit(table)
    for draw in model.draws_:
        assert (draw.row_features[:, 1:3] == rows).all()
        assert (draw.column_features[:, 1:2] == columns).all()
    assert (model.row_features_[:, 1:3] == rows).all()
    assert model.row_features_.shape[1] > 3


def test_finite_models_keep_their_size(case):
    likelihood, table = case
    model = BinaryMatrixFactorization(3, 2, likelihood=likelihood, **QUICK).fit(table)
    assert model.weights_.shape == (4, 3)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((5, 4)),
        np.ones((5, 4)),
        np.ones((1, 6)),
        np.eye(6)[:, :1],
        np.full((4, 3), np.nan),
        np.array([[1, np.nan, 0], [np.nan, np.nan, np.nan], [0, 1, 1.0]]),
    ],
    ids=["zeros", "ones", "one row", "one column", "nothing seen", "an empty row"],
)
@pytest.mark.parametrize("likelihood", ["gaussian", "logistic", "poisson"])
def test_odd_tables_are_answered_with_numbers(table, likelihood):
    for size in (None, 9):
        model = BinaryMatrixFactorization(
            size, size, likelihood=likelihood, n_chains=1, warmup=10, n_draws=5, random_state=0
        ).fit(table)
        assert np.isfinite(model.posterior_predict()).all()
        assert np.isfinite(model.transform(table)).all()
        assert np.isfinite(model.objective_)


def test_sparse_and_labelled_tables_are_taken():
    table = tables()["logistic"]
    dense = BinaryMatrixFactorization(**QUICK).fit(table)
    thin = BinaryMatrixFactorization(**QUICK).fit(sparse.csr_array(table))
    assert (dense.components_ == thin.components_).all()
    names = [f"site {i}" for i in range(len(table))]
    labelled = Table(table, rows=names)
    weights = dense.transform(labelled)
    assert weights.rows.tolist() == names


def test_it_survives_saving(tmp_path):
    table = tables()["logistic"]
    model = BinaryMatrixFactorization(**QUICK).fit(table)
    fz.save(model, tmp_path / "model.fz")
    again = fz.load(tmp_path / "model.fz")
    assert np.array_equal(again.posterior_predict(), model.posterior_predict())


def test_chains_can_be_diagnosed():
    pytest.importorskip("arviz_stats")
    model = BinaryMatrixFactorization(**{**QUICK, "n_chains": 2}).fit(tables()["logistic"])
    found = fz.diagnose(model)
    assert {"log_joint", "n_row_features", "precision"} <= set(found["quantity"])
    assert fz.to_datatree(model)["sample_stats"]["lp"].shape == (2, 20)


def test_wrong_settings_are_named():
    table = tables()["poisson"]
    with pytest.raises(ValueError, match="bias=True"):
        BinaryMatrixFactorization(likelihood="poisson", bias=False).fit(table)
    with pytest.raises(ValueError, match="known_rows= needs zeros and ones"):
        BinaryMatrixFactorization(likelihood="poisson", known_rows=[[1], [0]]).fit(table)
    with pytest.raises(ValueError, match="zeros and ones"):
        BinaryMatrixFactorization().fit(table)
    model = BinaryMatrixFactorization(likelihood="poisson", **QUICK).fit(table)
    with pytest.raises(ValueError, match="score_samples for other rows"):
        model.log_predictive(table[:3])
    with pytest.raises(ValueError, match="keep= needs one number per component"):
        model.reconstruct(table, keep=[1])


def test_progress_names_the_chain(capsys):
    options = {**QUICK, "n_chains": 2, "verbose": 2}
    BinaryMatrixFactorization(2, 2, likelihood="gaussian", **options).fit(blocks()[1])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 100
    assert sum(line.endswith("draw, chain 2") for line in lines) == 20


def test_the_bar_fills_up_whichever_chain_a_sweep_belongs_to():
    from rich.progress import Progress

    from falsezero.inference.progress import _filling_listener

    with Progress(disable=True) as bar:
        listen = _filling_listener(bar, "BMF", 4)
        for chain in (0, 1, 0, 1):
            listen({"chain": chain, "iteration": 1, "objective": -1.0})
        assert bar.tasks[0].finished


@pytest.mark.parametrize("prior", [(0, 1), (1.0, -1.0), (1, 1, 2), (1, np.inf)])
def test_a_prior_that_is_none_is_refused(prior):
    model = BinaryMatrixFactorization(row_concentration=prior, n_chains=1, warmup=1, n_draws=1)
    with pytest.raises(ValueError, match="row_concentration="):
        model.fit(np.eye(4))
