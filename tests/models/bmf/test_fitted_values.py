"""What is kept of a fit and what is answered from known draws, each against its formula."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from falsezero import BinaryMatrixFactorization
from falsezero.base.estimator import spawn_seeds
from falsezero.models.bmf import sampler
from falsezero.models.bmf.births import births_and_deaths
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.predict import Draw, aligned_share, feature_prior, ordered_draw
from falsezero.models.bmf.sampler import Model, SamplerSteps, draw_given, sweep
from falsezero.models.bmf.state import Cells

TABLE = np.array([[1.0, 0, 1, 1], [0, 0, np.nan, 1], [1, 1, 0, 0]])
ROWS = np.array([[0.0, 1, 1, 0], [1, np.nan, 0, 1]])


def a_draw(seed, likelihood):
    rng = np.random.default_rng(seed)
    on, across = (
        np.hstack([np.ones((n, 1)), rng.random((n, 2)) < 0.5]).astype(np.uint8) for n in (3, 4)
    )
    weights = rng.normal(size=(3, 3))
    weights = np.abs(weights) if likelihood == "poisson" else weights
    return Draw(seed % 2, on, across, weights, 1.5, 1.0, 1.2, 2.5, 0.0, 0.0)


def known(likelihood, n_draws=5, **options):
    """A model that was fitted with these draws."""
    model = BinaryMatrixFactorization(likelihood=likelihood, **options)
    model.draws_ = [a_draw(seed, likelihood) for seed in range(n_draws)]
    model.offset_, model.scale_ = (3.0, 2.0) if likelihood == "gaussian" else (0.0, 1.0)
    model.n_features_in_ = 4
    model._display()
    return model


def cell_means(model):
    return np.array([model._observation.mean(draw.predictor()) for draw in model.draws_])


# -- questions about the training table -----------------------------------------------------------


def test_probabilities_and_their_intervals_are_those_of_the_draws():
    model = known("logistic")
    means = cell_means(model)
    np.testing.assert_allclose(model.posterior_predict(), means.mean(axis=0))
    found = model.posterior_predict(interval=0.6)
    np.testing.assert_allclose(found.mean, means.mean(axis=0))
    np.testing.assert_allclose(found.low, np.quantile(means, 0.2, axis=0))
    np.testing.assert_allclose(found.high, np.quantile(means, 0.8, axis=0))


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
@pytest.mark.parametrize("seed", [None, 7])
def test_intervals_of_values_have_noise_in_them(likelihood, seed):
    model = known(likelihood)
    rng = np.random.default_rng(spawn_seeds(seed or 0, 1)[0])
    values = [
        model._observation.simulate(draw.predictor(), draw.precision, rng) for draw in model.draws_
    ]
    found = model.posterior_predict(interval=0.5, random_state=seed)
    for part, share in ((found.low, 0.25), (found.high, 0.75)):
        expected = np.quantile(values, share, axis=0) * model.scale_ + model.offset_
        np.testing.assert_allclose(part, expected)
    expected = cell_means(model).mean(axis=0) * model.scale_ + model.offset_
    np.testing.assert_allclose(found.mean, expected)


def test_log_predictive_is_the_log_of_the_mean_density():
    for likelihood, shift, scale in (("logistic", 0, 1), ("gaussian", 3, 2)):
        model = known(likelihood)
        found = model.log_predictive(TABLE)
        assert np.isnan(found[1, 2])
        assert np.isnan(found).sum() == 1
        terms = []
        for draw in model.draws_:
            predictor = draw.predictor()
            if likelihood == "logistic":
                terms.append(stats.bernoulli.logpmf(np.nan_to_num(TABLE), expit(predictor)))
            else:
                normal = stats.norm(shift + scale * predictor, scale / np.sqrt(draw.precision))
                terms.append(normal.logpdf(TABLE))
        seen = ~np.isnan(TABLE)
        expected = logsumexp(terms, axis=0) - np.log(5)
        np.testing.assert_allclose(found[seen], expected[seen])


# -- questions about other rows -------------------------------------------------------------------


@pytest.mark.parametrize(("finite", "beta"), [(None, 1.0), (2, 1.0), (None, 4.0)])
def test_scores_of_new_rows_sum_over_all_patterns(finite, beta):
    model = known("logistic", n_row_features=finite, beta=beta)
    expected = []
    for row in ROWS:
        seen = ~np.isnan(row)
        logs = []
        for draw in model.draws_:
            prior = feature_prior(draw, 1, finite or 0, beta)
            for bits in product((0, 1), repeat=2):
                on = np.array([1, *bits])
                p = expit(on @ draw.basis)
                terms = np.where(row == 1, np.log(p), np.log1p(-p))[seen].sum()
                logs.append(terms + np.log(np.where(on[1:], prior[1:], 1 - prior[1:])).sum())
        expected.append(logsumexp(logs) - np.log(5))
    np.testing.assert_allclose(model.score_samples(ROWS), expected)


def test_a_score_of_real_numbers_is_in_the_units_of_the_table():
    model = known("gaussian", n_draws=1)
    draw, values = model.draws_[0], np.array([[2.5, np.nan, 4.0, np.nan]])
    prior = feature_prior(draw, 1, 0)
    logs = []
    for bits in product((0, 1), repeat=2):
        on = np.array([1, *bits])
        normal = stats.norm(3 + 2 * on @ draw.basis, 2 / np.sqrt(draw.precision))
        log_prior = np.log(np.where(on[1:], prior[1:], 1 - prior[1:])).sum()
        logs.append(np.nansum(normal.logpdf(values[0])) + log_prior)
    np.testing.assert_allclose(model.score_samples(values), [logsumexp(logs)])


def test_row_features_come_from_the_representative_draw():
    model = known("logistic")
    cells = Cells.of(ROWS)
    share, _ = model._row_probability(model.representative_, cells)
    np.testing.assert_allclose(model.transform(ROWS), share)
    keep = np.array([1.0, 0.0, 0.5])
    expected = expit((share * keep) @ model.components_)
    np.testing.assert_allclose(model.reconstruct(ROWS, keep=keep), expected)
    np.testing.assert_allclose(model.reconstruct(ROWS), model.posterior_predict(ROWS))
    rows = [model._row_probability(draw, cells)[1] for draw in model.draws_]
    means = [expit(on @ draw.basis) for on, draw in zip(rows, model.draws_, strict=True)]
    np.testing.assert_allclose(model.posterior_predict(ROWS), np.mean(means, axis=0))


def test_rows_of_another_width_are_refused():
    model = known("logistic")
    for ask in (model.transform, model.score_samples, model.posterior_predict):
        with pytest.raises(ValueError, match=r"3 (features|columns)"):
            ask(np.zeros((2, 3)))
    assert model.n_features_in_ == 4


def test_features_are_shown_in_order_and_matched():
    model = known("logistic")
    means = cell_means(model)
    nearest = ((means - means.mean(axis=0)) ** 2).sum(axis=(1, 2)).argmin()
    shown = ordered_draw(model.draws_[nearest], 1, 1)
    np.testing.assert_array_equal(model.row_features_, shown.row_features)
    np.testing.assert_array_equal(model.column_features_, shown.column_features)
    np.testing.assert_array_equal(model.weights_, shown.weights)
    np.testing.assert_allclose(model.components_, shown.basis)
    for found, name in ((model.row_weights_, "row"), (model.column_weights_, "column")):
        each = [getattr(draw, f"{name}_features") for draw in model.draws_]
        expected = aligned_share(each, getattr(shown, f"{name}_features"))
        np.testing.assert_allclose(found, expected)


# -- settings of a fit ----------------------------------------------------------------------------


def test_a_real_table_is_sampled_in_standard_units():
    table = np.array([[1.0, 5.0, np.nan], [3.0, 7.0, 4.0]])
    model = BinaryMatrixFactorization(likelihood="gaussian")
    model._standardise_by(table)
    assert model.offset_ == pytest.approx(4.0)
    assert model.scale_ == pytest.approx(np.sqrt((9 + 1 + 1 + 9 + 0) / 5))
    cells = model._standardised(table)
    assert cells.values.sum() == pytest.approx(0)
    assert (cells.values**2).sum() / 5 == pytest.approx(1)
    plain = BinaryMatrixFactorization(likelihood="gaussian", bias=False)
    plain._standardise_by(table)
    assert plain.offset_ == 0
    assert plain.scale_ == pytest.approx(np.sqrt((1 + 25 + 9 + 49 + 16) / 5))
    for likelihood, values in (("logistic", table), ("gaussian", 7 + 0 * table[1:])):
        still = BinaryMatrixFactorization(likelihood=likelihood)
        still._standardise_by(values)
        assert (still.offset_, still.scale_) == ((0.0 if likelihood == "logistic" else 7.0), 1.0)
    nothing = BinaryMatrixFactorization(likelihood="gaussian")
    nothing._standardise_by(np.full((2, 2), np.nan))
    assert (nothing.offset_, nothing.scale_) == (0.0, 1.0)


@pytest.mark.parametrize("beta", [1e-6, 1e6])
@pytest.mark.parametrize("finite", [None, 2])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_priors_of_features_are_survived(finite, beta):
    table = np.random.default_rng(0).random((9, 7)) < 0.5
    model = BinaryMatrixFactorization(
        finite, finite, beta=beta, n_chains=2, warmup=20, n_draws=20, random_state=0
    ).fit(table)
    assert np.isfinite([row["objective"] for row in model.history_]).all()
    assert np.isfinite(model.score_samples(table)).all()
    with pytest.raises(ValueError, match="'beta' parameter"):
        model.set_params(beta=0.0).fit(table)


def test_a_model_has_its_priors_and_known_features():
    known_rows = np.array([[1, 0], [0, 1], [1, 1]])
    model = BinaryMatrixFactorization(
        2, None, known_rows=known_rows, weight_prior=(3.0, 4.0), noise_prior=(5.0, 6.0),
        row_concentration=(7.0, 8.0), column_concentration=(9.0, 10.0), split_merge=3, beta=2,
    )  # fmt: skip
    cells = Cells.of(TABLE)
    made = model._model(cells)
    np.testing.assert_array_equal(made.fixed_rows, np.hstack([np.ones((3, 1)), known_rows]))
    np.testing.assert_array_equal(made.fixed_columns, np.ones((4, 1)))
    assert (made.n_row_features, made.n_column_features, made.n_split_merge) == (2, 0, 3)
    assert made.reads_table
    assert made.beta == 2.0
    assert not model.set_params(start="prior")._model(cells).reads_table
    priors = made.priors
    assert (priors.row_concentration, priors.column_concentration) == ((7.0, 8.0), (9.0, 10.0))
    assert (priors.weight, priors.noise) == ((3.0, 4.0), (5.0, 6.0))
    assert model._n_known(known_rows) == 3
    assert model._n_known(None) == 1
    # Counts: the rate of the weights' prior is in units of the mean cell, 6 / 11.
    counts = model.set_params(likelihood="poisson")._model(cells).priors.weight
    assert counts == pytest.approx((3.0, 4.0 * 6 / 11))
    assert model._model(Cells.of(0 * TABLE)).priors.weight == pytest.approx((3.0, 4e-3))
    bare = model.set_params(likelihood="logistic", bias=False)
    np.testing.assert_array_equal(bare._model(cells).fixed_rows, known_rows)
    assert bare._model(cells).fixed_columns.shape == (4, 0)
    assert bare._n_known(known_rows) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_fit_keeps_every_chain_and_its_numbers():
    table = (np.random.default_rng(0).random((12, 6)) < 0.5).astype(float)
    seen = []
    model = BinaryMatrixFactorization(
        n_chains=2, warmup=3, n_draws=5, thin=2, random_state=0, callback=seen.append
    ).fit(table)
    assert len(model.history_) == 2 * (3 + 5 * 2)
    assert model.n_iter_ == 13
    assert [draw.chain for draw in model.draws_] == [0] * 5 + [1] * 5
    assert model.objective_ == pytest.approx(np.mean([d.log_joint for d in model.draws_]))
    for number, trace in enumerate(model.chains_):
        own = [draw for draw in model.draws_ if draw.chain == number]
        for name in ("log_joint", "log_likelihood", "row_concentration", "weight_scale"):
            np.testing.assert_array_equal(trace[name], [getattr(d, name) for d in own])
        for i, side in enumerate(("row", "column")):
            sizes = [draw.weights.shape[i] for draw in own]
            np.testing.assert_array_equal(trace[f"n_{side}_features"], sizes)
            each = [getattr(d, f"{side}_features").sum() for d in own]
            per = np.array(each) / (12, 6)[i]
            np.testing.assert_allclose(trace[f"features_per_{side}"], per)
    assert model.observed_ is None
    assert np.isnan(model.r_hat_)
    assert model.converged_


@pytest.mark.parametrize(("n_chains", "who"), [(1, "chain has not settled"), (2, "chains disag")])
def test_chains_that_disagree_are_named(n_chains, who):
    model = BinaryMatrixFactorization(n_chains=n_chains)
    model.r_hat_, model.chains_ = 1.5, [{"log_joint": np.array([-3.0, -6.0])}] * n_chains
    levels = ", ".join(["-4"] * n_chains)
    with pytest.warns(ConvergenceWarning, match=f"the {who}.*1.50; .*: {levels}\\)"):
        model._warn_of_disagreement()


# -- where a chain begins and how it goes on ------------------------------------------------------


def steps_of(likelihood="logistic", reads_table=True, finite=0, shape=(8, 6)):
    rng = np.random.default_rng(0)
    table = (
        (rng.random(shape) < 0.4) * 2.0 if likelihood == "poisson" else rng.random(shape).round()
    )
    fixed = (np.ones((n, 1), np.uint8) for n in shape)
    model = Model(LIKELIHOODS[likelihood], *fixed, finite, finite, reads_table=reads_table)
    return SamplerSteps(model, Cells.of(table)), table


def test_features_read_off_the_table_stand_beside_the_bias(monkeypatch):
    found = np.array([[1, 0]] * 3 + [[0, 1]] * 5, np.uint8), np.array([[1]] * 2 + [[0]] * 4)
    monkeypatch.setattr(sampler, "found_features", lambda cells, rng: tuple(map(np.copy, found)))
    rng = np.random.default_rng(0)
    steps, table = steps_of()
    state = draw_given(steps.model, 0.3, 0.3, 1.0, 1.0, rng)
    read = steps._read_off(state, rng)
    np.testing.assert_array_equal(read.rows.on, np.hstack([np.ones((8, 1)), found[0]]))
    np.testing.assert_array_equal(read.columns.on, np.hstack([np.ones((6, 1)), found[1]]))
    assert read.weights.shape == (3, 2)
    # Of counts a feature is on where rows (columns) are larger.
    steps, table = steps_of("poisson")
    state = draw_given(steps.model, 0.3, 0.3, 1.0, 1.0, rng)
    read = steps._read_off(state, rng)
    for on, start, size in (
        (read.rows.on, found[0], table.sum(axis=1)),
        (read.columns.on, found[1], table.sum(axis=0)),
    ):
        for k in range(start.shape[1]):
            is_on = start[:, k] == 1
            flips = size[is_on].mean() < size[~is_on].mean()
            np.testing.assert_array_equal(on[:, k + 1], is_on != flips)
    none = np.zeros((8, 0), np.uint8), np.zeros((6, 0), np.uint8)
    monkeypatch.setattr(sampler, "found_features", lambda cells, rng: none)
    assert steps._read_off(state, rng) is state


def test_a_chain_settles_before_superfluous_features_are_looked_for(monkeypatch):
    calls = []

    def swept(state, *more):
        calls.append("sweep")
        return state

    monkeypatch.setattr(sampler, "sweep", swept)
    monkeypatch.setattr(sampler, "settling_sweep", lambda state, *more: ("settled", state))

    def without(state, settle):
        calls.append("tidy")
        assert settle("state") == ("settled", "state")
        return state

    monkeypatch.setattr(sampler, "without_redundant", without)
    steps, _ = steps_of()
    steps._tidied("state", None)
    assert calls == (["sweep"] * 10 + ["tidy"]) * 2


@pytest.mark.parametrize("reads_table", [True, False])
def test_a_chain_begins_with_few_features_and_fitted_weights(reads_table, monkeypatch):
    drawn = []
    monkeypatch.setattr(SamplerSteps, "_read_off", lambda self, state, rng: state)
    monkeypatch.setattr(SamplerSteps, "_tidied", lambda self, state, rng: state)
    steps, table = steps_of(reads_table=reads_table)
    real = type(steps.model.likelihood).draw_weights

    def draw_weights(self, state, cells, rng):
        drawn.append(state)
        return real(self, state, cells, rng)

    monkeypatch.setattr(type(steps.model.likelihood), "draw_weights", draw_weights)
    state, rows = steps.init(None, np.random.default_rng(0))
    assert len(drawn) == 3
    assert (drawn[0].rows.concentration, drawn[0].columns.concentration) == (0.3, 0.3)
    assert (drawn[0].weight_scale, drawn[0].precision) == (1.0, 1.0)
    assert len(rows) == 1
    p = expit(state.predictor())
    log_likelihood = np.log(np.where(table == 1, p, 1 - p)).sum()
    assert state.log_likelihood == pytest.approx(log_likelihood)
    assert state.log_joint < log_likelihood


def test_a_sweep_tries_every_move_on_both_sides(monkeypatch):
    tried = []

    def noting(name):
        def move(state, cells, likelihood, rng):
            tried.append((name, cells.values.shape, state.rows.on.shape[0]))
            return state

        return move

    for finite in (0, 2):
        tried.clear()
        steps, _ = steps_of(finite=finite)
        state = draw_given(steps.model, 1.0, 1.0, 1.0, 1.0, np.random.default_rng(0))
        names = ["single_entries", "entry_blocks", "births_and_deaths", "split_merge"]
        with monkeypatch.context() as patched:
            for name in names:
                patched.setattr(sampler, name, noting(name))
            sweep(state, steps.cells, steps.model, np.random.default_rng(0))
        sides = [((8, 6), 8), ((6, 8), 6)]
        skipped = "births_and_deaths" if finite else ""
        assert tried == [(name, *side) for name in names for side in sides if name != skipped]


@pytest.mark.parametrize(("n", "visited"), [(2, 2), (250, 3), (400, 4)])
def test_features_are_born_in_a_few_rows(n, visited, monkeypatch):
    seen = []

    def birth_scan(kind, chosen, reached, on, width, n_fixed, rate, weights, *more):
        seen.append((chosen, on.shape[1], weights.shape[0], rate))
        assert reached == 0
        assert n_fixed == 1
        return width, len(chosen)

    monkeypatch.setattr("falsezero.models.bmf.births.birth_scan", birth_scan)
    steps, _ = steps_of(shape=(n, 3))
    rng = np.random.default_rng(0)
    state = draw_given(steps.model, 1.0, 1.0, 1.0, 1.0, rng)
    moved = births_and_deaths(state, steps.cells, steps.model.likelihood, rng)
    [(chosen, width, height, rate)] = seen
    assert len(np.unique(chosen)) == visited
    assert width == height == state.rows.on.shape[1] + 4
    assert rate == state.rows.concentration / n
    np.testing.assert_array_equal(moved.rows.on, state.rows.on)
    np.testing.assert_array_equal(moved.weights, state.weights)
