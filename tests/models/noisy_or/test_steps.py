"""The noisy-or steps and answers by their formulas."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from tests.reference.noisy_or import em_step

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Fit, Point
from falsezero.models.noisy_or import noisy_or
from falsezero.models.noisy_or.noisy_or import NoisyOr
from falsezero.models.noisy_or.start import is_needed
from falsezero.models.noisy_or.steps import FactorisedSteps, NoisyOrState, RowShares, TruncatedSteps

TABLE = np.array([[1.0, 0, 1], [0, 0, np.nan], [1, 1, 1], [0, np.nan, 0], [1, 1, 0]])


def blocks_of(table=TABLE, rows=None):
    return Blocks.cut(sparse.csr_array(table), rows or len(table))


def some_state(hold=0):
    theta = np.array([[0.9, 0.2, 0.4], [0.1, 1.2, 0.3]])
    return NoisyOrState(theta, np.array([0.2, 0.3, 0.15]), np.array([-0.5, 0.3]), hold)


def test_the_box_is_half_a_cell_wide():
    steps = TruncatedSteps(2, blocks_of())
    least, most = 0.5 / 6, np.log(2 * 6)
    wild = NoisyOrState(
        np.array([[-1.0, 0.5, 99.0]]), np.array([-1.0, 0.5, 99.0]), np.array([-99.0, 99.0]), 3
    )
    boxed = steps.boxed(wild)
    np.testing.assert_allclose(boxed.theta, [[1e-12, 0.5, most]])
    np.testing.assert_allclose(boxed.leak, [least, 0.5, most])
    np.testing.assert_allclose(boxed.odds, [logit(least), -logit(least)])
    assert boxed.hold == 3


def test_strides_stay_three_tenths_away_from_zero():
    steps = TruncatedSteps(2, blocks_of())
    near, far = some_state(), some_state()._replace(theta=np.full((2, 3), -5.0), leak=-np.ones(3))
    point = steps.project(Point(far, ["rows"]), Point(near, []))
    np.testing.assert_allclose(point.state.theta, 0.3 * near.theta)
    np.testing.assert_allclose(point.state.leak, np.maximum(0.3 * near.leak, 0.5 / 6))
    assert point.local == ["rows"]


@pytest.mark.parametrize("rows", [5, 2])
@pytest.mark.parametrize("hold", [0, 2, 1])
def test_a_step_is_that_of_the_twin_with_the_leak_held_or_not(rows, hold):
    blocks, state = blocks_of(rows=rows), some_state(hold)
    steps = TruncatedSteps(2, blocks, n_states=4)
    assert steps.has_missing
    pairs = [
        steps.local_step(block, local, state, None)
        for block, local in zip(blocks, steps.start_rows(blocks, state), strict=True)
    ]
    total = pairs[0][1]
    for _, stats in pairs[1:]:
        total = type(total)(*(a + b for a, b in zip(total, stats, strict=True)))
    new = steps.global_step(total, state, None)
    theta, leak, share, posterior = em_step(TABLE, state.theta, state.leak, state.odds)
    inside = steps.boxed(NoisyOrState(theta, leak, logit(share), 0))
    np.testing.assert_allclose(new.theta, inside.theta)
    np.testing.assert_allclose(new.leak, state.leak if hold else inside.leak)
    np.testing.assert_allclose(new.odds, logit(share))
    assert new.hold == max(hold - 1, 0)
    np.testing.assert_allclose(np.concatenate([p.posterior for p, _ in pairs]), posterior)
    assert [p.turn for p, _ in pairs] == [1] * len(blocks)


def test_a_column_never_observed_keeps_its_leak():
    table = TABLE.copy()
    table[:, 1] = np.nan
    blocks, state = blocks_of(table), some_state()
    steps = TruncatedSteps(2, blocks, n_states=4)
    [local] = steps.start_rows(blocks, state)
    _, stats = steps.local_step(blocks[0], local, state, None)
    assert steps.global_step(stats, state, None).leak[1] == pytest.approx(0.3)


def test_rows_begin_with_all_codes_or_with_none():
    blocks, state = blocks_of(rows=3), some_state()
    every = TruncatedSteps(2, blocks, n_states=4).start_rows(blocks, state)
    assert [part.states.shape for part in every] == [(3, 4, 2), (2, 4, 2)]
    assert every[0].states[0].tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert every[0].counts.tolist() == [4, 4, 4]
    np.testing.assert_allclose(every[1].posterior, np.tile(expit(state.odds), (2, 1)))
    assert every[0].turn == 0
    assert (every[0].bound == 0).all()
    few = TruncatedSteps(2, blocks, n_states=3).start_rows(blocks, state)
    assert few[0].states.shape == (3, 3, 2)
    assert not few[0].states.any()
    assert few[0].counts.tolist() == [1, 1, 1]
    assert TruncatedSteps(2, blocks, n_states=9).start_rows(blocks, state)[0].counts[0] == 4


def test_shares_begin_in_proportion_to_loadings():
    blocks, state = blocks_of(), some_state()
    [rows] = FactorisedSteps(2, blocks).start_rows(blocks, state)
    columns = np.nonzero(TABLE == 1)[1]
    theta = state.theta[:, columns]
    np.testing.assert_allclose(rows.shares, (theta / theta.sum(axis=0)).T)
    np.testing.assert_allclose(rows.posterior, np.tile(expit(state.odds), (5, 1)))
    assert rows.turn == 0
    assert rows.codes.states.shape[1] == 4
    [alone] = FactorisedSteps(2, blocks, restarts=False).start_rows(blocks, state)
    assert alone.codes is None


def test_restarted_shares_weigh_loadings_by_the_posterior():
    blocks, state = blocks_of(), some_state()
    posterior = np.random.default_rng(0).random((5, 2))
    shares = FactorisedSteps._shares_of(blocks[0], posterior, state)
    for share, n, t in zip(shares, *np.nonzero(TABLE == 1), strict=True):
        each = (posterior[n] + 1e-6) * state.theta[:, t]
        np.testing.assert_allclose(share, each / each.sum())


def test_rows_are_restarted_every_fifth_time(monkeypatch):
    blocks, state = blocks_of(), some_state()
    steps = FactorisedSteps(2, blocks)
    asked, search = [], steps.search.local_step

    def noted(block, codes, state, rng):
        asked.append(True)
        return search(block, codes, state, rng)

    monkeypatch.setattr(steps.search, "local_step", noted)
    [rows] = steps.start_rows(blocks, state)
    counts = []
    for turn in range(1, 12):
        rows, _ = steps.local_step(blocks[0], rows, state, None)
        assert isinstance(rows, RowShares)
        assert rows.turn == turn
        counts.append(len(asked))
    assert counts == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]


# -- answers --------------------------------------------------------------------------------------


@pytest.fixture(name="model")
def _model():
    rng = np.random.default_rng(3)
    made = rng.random((40, 3)) < [0.5, 0.4, 0.3]
    X = (rng.random((40, 6)) < 1 - 0.9 * (1 - 0.8) ** np.repeat(made, 2, axis=1)).astype(float)
    model = NoisyOr(3, random_state=0, tol=1e-4).fit(X)
    return model, X


def test_codes_numbers_and_errors_by_hand(model):
    model, X = model
    weights = model.transform(X)
    codes = (weights > 0.5).astype(int)
    np.testing.assert_array_equal(model.codes(X), codes)
    np.testing.assert_array_equal(model.predict(X), codes[:, 0] + 2 * codes[:, 1] + 4 * codes[:, 2])
    wrong = 0.0
    for n, t in np.ndindex(X.shape):
        p = 1 - (1 - model.leak_[t]) * np.prod(1 - codes[n] * model.components_[:, t])
        wrong += 1 - p if X[n, t] == 1 else p
    assert model.coding_error(X) == pytest.approx(wrong / X.size, rel=1e-5)
    holed = X.copy()
    holed[0, 0] = np.nan
    assert 0 < model.coding_error(holed) < 1
    np.testing.assert_array_equal(model.loadings_, model.components_)


def test_many_sources_make_numbers_of_any_size():
    model = NoisyOr(64)
    model.codes = lambda X: np.eye(64, dtype=int)[[0, 63]]
    assert model.predict(None).tolist() == [1, 2**63]


def test_a_bound_is_never_above_a_certainty(model, monkeypatch):
    model, X = model
    parts = [SimpleNamespace(bound=np.array([1e-9, -2.0])), SimpleNamespace(bound=np.array([0.0]))]
    monkeypatch.setattr(model, "_settled", lambda blocks: parts)
    assert model.score_samples(X).tolist() == [0.0, -2.0, 0.0]


def test_members_of_communities_come_by_loading(model):
    model, _ = model
    found = model.communities(2)
    active = np.flatnonzero(model.active_)
    assert len(found) == 2 * len(active)
    for row in range(len(found)):
        k, j = found["source"][row], found["column"][row]
        assert found["loading"][row] == model.components_[k, j]
        assert found["prior"][row] == model.priors_[k]
    first = found["loading"][::2]
    np.testing.assert_array_equal(first, model.components_[active].max(axis=1))
    model.active_ = np.array([False, True, False])
    assert set(model.communities()["source"]) == {1}
    assert len(model.communities()) == 6
    assert model._idle_components() == {0: "inactive", 2: "inactive"}
    assert model._importance()[0] == "prior"


def test_sources_come_by_their_priors(model):
    model, X = model
    assert (np.diff(model.priors_) <= 0).all()
    np.testing.assert_allclose(model.row_weights_, model.transform(X), atol=1e-2)
    assert model.n_rows_ == 40
    assert model.score_samples(X).max() <= 0


@pytest.mark.parametrize(
    ("n_sources", "method", "expected"),
    [
        (15, "auto", "exact"),
        (16, "auto", "drawn"),
        (3, "importance", "drawn"),
        (20, "exact", "exact"),
    ],
)
def test_which_likelihood_is_taken(n_sources, method, expected, monkeypatch):
    model = fz.NoisyOr(2, random_state=0, max_iter=5, tol=1.0).fit(np.eye(4))
    monkeypatch.setattr(noisy_or, "exact_log_likelihood", lambda *_: np.array(["exact"]))
    monkeypatch.setattr(noisy_or, "importance_log_likelihood", lambda *_: np.array(["drawn"]))
    wide = np.zeros((n_sources, 4))
    model.components_, model.priors_ = wide, np.full(n_sources, 0.5)
    monkeypatch.setattr(model, "_settled", lambda blocks: [RowShares(*[None] * 5)])
    assert model.log_likelihood(np.eye(4), method=method).tolist() == [expected]


def test_too_many_sources_to_sum():
    model = fz.NoisyOr(2, random_state=0, max_iter=5, tol=1.0).fit(np.eye(4))
    model.components_ = np.zeros((21, 4))
    with pytest.raises(ValueError, match="too many to sum"):
        model.log_likelihood(np.eye(4), method="exact")


def test_a_model_whose_parts_do_not_fit_is_not_whole(model):
    model, _ = model
    assert model._is_whole()
    leak = model.leak_
    model.leak_ = leak[1:]
    assert not model._is_whole()
    model.leak_, model.priors_ = leak, model.priors_[1:]
    assert not model._is_whole()


def test_a_fit_is_adopted_in_the_order_of_its_priors():
    X = (np.random.default_rng(0).random((30, 3)) < 0.4).astype(float)
    model = NoisyOr(2)
    blocks = model._blocks(X, reset=True)
    state = some_state()
    posterior = np.random.default_rng(1).random((30, 2))
    fit = Fit(state, [SimpleNamespace(posterior=posterior)], -12.5, [], True, 3)
    model._adopt(fit, blocks)
    np.testing.assert_allclose(model.components_, 1 - np.exp(-state.theta[::-1]))
    np.testing.assert_allclose(model.leak_, 1 - np.exp(-state.leak))
    np.testing.assert_allclose(model.priors_, expit([0.3, -0.5]))
    np.testing.assert_array_equal(model.row_weights_, posterior[:, ::-1])
    assert (model.bound_, model.n_rows_) == (-12.5, 30)
    expected = is_needed(posterior[:, ::-1], model.components_, 30)
    np.testing.assert_array_equal(model.active_, expected)
    again = model._state()
    np.testing.assert_allclose(again.theta, state.theta[::-1])
    np.testing.assert_allclose(again.leak, state.leak)
    np.testing.assert_allclose(again.odds, [0.3, -0.5])
    assert again.hold == 0
    np.testing.assert_allclose(model._link_offset, state.leak)
    model.leak_ = np.array([1.0, 0.5, 0.0])
    np.testing.assert_allclose(model._link_offset, [-np.log(2**-53), np.log(2), 0])


@pytest.mark.parametrize("start", ["search", "random"])
def test_settings_choose_the_steps(start):
    blocks = blocks_of()
    steps = NoisyOr(2, n_states=5, start=start)._steps(blocks)
    assert type(steps) is TruncatedSteps
    assert (steps.n_states, steps.n_components) == (5, 2)
    steps = NoisyOr(2, inference="factorised", start=start)._steps(blocks)
    assert type(steps) is FactorisedSteps
    assert (steps.search is not None) is (start == "search")
    assert steps.start is noisy_or._STARTS[start]
