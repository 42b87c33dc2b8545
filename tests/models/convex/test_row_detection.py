"""Detection that depends on what is known of the rows: where a column is, and at the next look."""

import numpy as np
import pytest
from scipy.special import expit

import falsezero as fz
from falsezero.models.convex.look_answers import _misses


def marginal(seed=0, n_rows=60, n_columns=3):
    """Columns that are seen easily at low rows and hardly at high ones; two rows are unvisited."""
    rng = np.random.default_rng(seed)
    height = rng.uniform(-2, 2, n_rows)
    rate = expit(1.5 - 1.5 * height)[:, None, None]
    there = rng.random((n_rows, 1, n_columns)) < 0.8
    values = (there & (rng.random((n_rows, 3, n_columns)) < rate)).astype(float)
    values[:2] = np.nan
    date = rng.normal(size=(n_rows, 3))
    return fz.Looks(values, variables={"date": date}, row_variables={"height": height})


def tiny_fit(looks, **options):
    options = {"row_detection": True, "tol": 1e-3, "random_state": 0} | options
    return fz.RepeatedLooks(2, **options).fit(looks)


def test_terms_of_rows_follow_those_of_looks():
    looks = marginal()
    model = fz.RepeatedLooks(2, row_detection=True)
    blocks = model._blocks(looks, reset=True)
    design = np.concatenate([block.patterns.design for block in blocks])
    assert design.shape == (60, 3, 4)
    known = model.row_terms_.design(looks)
    for look in range(3):
        np.testing.assert_allclose(design[:, look, 2:], known[:, 1:])
    plain = fz.RepeatedLooks(2)
    [block] = plain._blocks(looks, reset=True)
    np.testing.assert_allclose(block.patterns.design, design[..., :2])
    without = fz.Looks(looks.to_numpy(), row_variables=looks.row_variables)
    [block] = model._blocks(without, reset=True)
    np.testing.assert_allclose(block.patterns.design[:, 0], known)
    assert fz.RepeatedLooks(2)._blocks(without, reset=True)[0].patterns.design.shape[2] == 1


@pytest.mark.parametrize("next_look", [None, {"date": 1.3}], ids=["mean", "stated"])
def test_the_next_look_at_a_row_has_its_rate(next_look):
    """again = present x rate, by loops, with rates of the row at that date."""
    looks = marginal()
    model = tiny_fit(looks, heterogeneity=0.8)
    blocks = model._blocks(looks, reset=False)
    steps, state = model._steps(blocks), model.state_
    again = model.again(looks, next_look).to_numpy()
    present = model.present(looks).to_numpy()
    known = model.row_terms_.design(looks)
    centre, scale = model.variable_scale_[:, 0]
    date = 0.0 if next_look is None else (1.3 - centre) / scale
    [block], nodes = blocks, steps.seen.nodes
    rows = steps._no_effects(60)
    shares = steps.seen.evidence(block.patterns, state.seen_mean, state.seen, rows).posterior
    expected = np.empty_like(again)
    for n, t in np.ndindex(*again.shape):
        c = np.array([1.0, date, *known[n, 1:]])
        eta = state.seen_mean[t] @ c + float(state.seen.spread) * nodes
        variance = c @ state.seen.covariance[t] @ c
        rate = expit(eta / np.sqrt(1 + np.pi * variance / 8))
        expected[n, t] = present[n, t] * (shares[n, t] @ rate)
    np.testing.assert_allclose(again, expected, rtol=1e-6)


def test_a_row_that_suits_is_seen_more_easily():
    looks = marginal()
    height = looks.row_variables["height"]
    for inference in ("vb", "gibbs"):
        model = tiny_fit(looks, inference=inference, n_draws=10)
        rate = np.asarray(model.again(looks)) / np.asarray(model.present(looks))
        assert (rate[height < -1].min(axis=0) > rate[height > 1.5].max(axis=0)).all()
        same = tiny_fit(looks, inference=inference, n_draws=10, row_detection=False)
        rate = np.asarray(same.again(looks)) / np.asarray(same.present(looks))
        assert np.ptp(rate, axis=0).max() < 0.1


def test_detection_is_that_of_the_rows_where_a_column_is():
    looks = marginal()
    model = tiny_fit(looks, tol=1e-9)
    blocks = model._blocks(looks, reset=False)
    [block], [rows] = blocks, model._settled(blocks)
    steps, state = model._steps(blocks), model.state_
    present = model._plain_present(steps, block, rows, state)[0]
    known = model.row_terms_.design(looks)[:, 1:]
    for t in range(3):
        where = (present[:, t, None] * known).sum(axis=0) / present[:, t].sum()
        np.testing.assert_allclose(model.usual_terms_[t], [1, 0, *where], atol=2e-3)
        c = model.usual_terms_[t]
        variance = c @ state.seen.covariance[t] @ c
        rate = expit(state.seen_mean[t] @ c / np.sqrt(1 + np.pi * variance / 8))
        assert model.detection_[t] == pytest.approx(rate)
        missed = 1 - expit(state.seen_mean[t] @ c)
        np.testing.assert_allclose(model.misses(2)[:, t], [1, missed, missed**2])
    assert tiny_fit(looks, row_detection=False).usual_terms_ is None
    assert tiny_fit(looks, detection=0.6).usual_terms_ is None
    np.testing.assert_allclose(
        _misses(state, 1, None)[1], 1 - expit(state.seen_mean[:, 0]), rtol=1e-12
    )


def test_a_fit_with_row_detection_is_saved_and_loaded(tmp_path):
    looks = marginal()
    model = tiny_fit(looks)
    fz.save(model, tmp_path / "m.fz")
    again = fz.load(tmp_path / "m.fz").again(looks, {"date": 0.5})
    np.testing.assert_allclose(np.asarray(again), np.asarray(model.again(looks, {"date": 0.5})))
