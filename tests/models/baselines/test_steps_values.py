"""One step of each baseline by loops, its surfaces by differences, and where it begins."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import logit

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.models.baselines import plsa
from falsezero.models.baselines.bernoulli_mixture import BernoulliSteps
from falsezero.models.baselines.bernoulli_nmf import Parts, TanhSteps, _TanhSurface
from falsezero.models.baselines.logistic_pca import (
    Loadings,
    LogisticSteps,
    _LogisticSurface,
)
from falsezero.models.baselines.mixture import Mixture
from falsezero.models.baselines.plsa import Aspects, TokenSteps, _shares, _TokenSurface
from falsezero.models.baselines.row_neighbours import RowNeighbours
from falsezero.models.baselines.unigram_mixture import UnigramSteps
from falsezero.models.convex.family import RowWeights

BINARY = np.array([[1.0, 0, np.nan, 1], [0, 0, 1, 0], [1, 1, 0, 0]])
COUNTS = np.array([[3.0, 0, np.nan, 1], [0, 2, 1, 0], [1, 1, 0, 4]])
MEAN = (np.nansum(BINARY, axis=0) + 0.5) / ((~np.isnan(BINARY)).sum(axis=0) + 1)


def blocks_of(table):
    return Blocks.cut(np.asarray(table, dtype=float))


def seen_cells(table):
    return zip(*np.nonzero(~np.isnan(table)), strict=True)


def unpacked(packed, k):
    """Symmetric matrices from their upper triangles."""
    full = np.zeros((len(packed), k, k))
    first, second = np.triu_indices(k)
    full[:, first, second] = full[:, second, first] = packed
    return full


def check_surface(surface, w):
    """Gradient and curvature of a surface against differences of its value."""
    rows = np.arange(len(w))
    value, gradient, packed = surface(rows, w)
    bend = unpacked(packed, w.shape[1])
    for k in range(w.shape[1]):
        step = np.zeros_like(w)
        step[:, k] = 1e-5
        (up, up_slope, _), (down, down_slope, _) = (surface(rows, w + s * step) for s in (1, -1))
        np.testing.assert_allclose(gradient[:, k], (up - down) / 2e-5, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            -bend[:, k], (up_slope - down_slope) / 2e-5, rtol=1e-4, atol=1e-5
        )
    return value


# -- PLSA -----------------------------------------------------------------------------------------


def test_a_step_of_plsa_fills_in_what_was_not_observed():
    rng = np.random.default_rng(0)
    blocks, rates, theta = blocks_of(COUNTS), rng.uniform(0.5, 2, (3, 2)), rng.random((4, 2))
    theta /= theta.sum(axis=0)
    steps = TokenSteps(2, blocks)
    new, found = steps.local_step(blocks[0], RowWeights(rates), Aspects(theta), None)
    mean, by_row, by_column, total = rates @ theta.T, np.zeros((3, 2)), np.zeros((4, 2)), 0.0
    for n, t in np.ndindex(3, 4):
        x = mean[n, t] if np.isnan(COUNTS[n, t]) else COUNTS[n, t]
        cause = x * rates[n] * theta[t] / mean[n, t]
        by_row[n] += cause
        by_column[t] += cause
        if not np.isnan(COUNTS[n, t]):
            total += COUNTS[n, t] * np.log(mean[n, t]) - mean[n, t]
    np.testing.assert_allclose(new.weights, by_row)
    assert steps.objective(found, Aspects(theta)) == pytest.approx(total)
    state = steps.global_step(found, Aspects(theta), None)
    np.testing.assert_allclose(state.columns, by_column / by_column.sum(axis=0))
    value = check_surface(_TokenSurface(blocks[0], theta), rates)
    assert value.sum() == pytest.approx(total)
    wild = Point(Aspects(-theta), [RowWeights(-rates)])
    back = steps.project(wild, Point(Aspects(theta), [RowWeights(rates)]))
    np.testing.assert_allclose(back.state.columns, theta)
    np.testing.assert_allclose(back.local[0].weights, 0.3 * rates)


def test_plsa_begins_around_the_totals():
    blocks = blocks_of(np.nan_to_num(COUNTS))
    steps = TokenSteps(2, blocks)
    starts = [steps.init(blocks, np.random.default_rng(i)) for i in range(800)]
    rates = np.array([rows[0].weights for _, rows in starts])
    totals = np.nan_to_num(COUNTS).sum(axis=1)
    np.testing.assert_allclose(rates.sum(axis=2), np.tile(totals, (800, 1)))
    # Shares have the spread of a Dirichlet with two parameters of 5.
    share = rates[..., 0] / totals
    assert share.var() == pytest.approx(stats.beta(5, 5).var(), rel=0.1)
    columns = np.array([state.columns for state, _ in starts])
    np.testing.assert_allclose(columns.sum(axis=1), 1)
    empty = blocks_of(np.zeros((2, 3)))
    state, [rows] = TokenSteps(2, empty).init(empty, np.random.default_rng(0))
    np.testing.assert_allclose(rows.weights.sum(axis=1), 1e-3)
    assert np.isfinite(state.columns).all()


def test_shares_of_a_row_without_tokens_are_equal():
    np.testing.assert_allclose(_shares(np.array([[0.0, 0], [1, 3]])), [[0.5, 0.5], [0.25, 0.75]])


@pytest.fixture(name="topics", scope="module")
def _topics():
    return fz.PLSA(2, random_state=0, tol=1e-3).fit(COUNTS)


def test_plsa_expects_and_scores_rows(topics, monkeypatch):
    model = topics
    weights, p = model.transform(COUNTS), model.row_weights_ @ model.components_
    assert model.n_parameters_ == 2 * (4 - 1) + 1 * 3
    assert not model.is_binary_
    seen = 1 - (weights @ model.components_)[0, 2]
    lengths = np.array([4 / seen, 3, 6])
    np.testing.assert_allclose(
        model.reconstruct(COUNTS), lengths[:, None] * (weights @ model.components_), rtol=1e-6
    )

    def by_hand(atoms):
        scores = []
        for row in COUNTS:
            ok = ~np.isnan(row)
            each = [
                stats.multinomial.pmf(row[ok], row[ok].sum(), q[ok] / q[ok].sum()) for q in atoms
            ]
            scores.append(np.log(np.mean(each)))
        return scores

    np.testing.assert_allclose(model.score_samples(COUNTS), by_hand(p), rtol=1e-6)
    monkeypatch.setattr(plsa, "_ATOM_CELLS", 4)
    many = fz.PLSA(2, random_state=0, max_iter=3, tol=1.0).fit(np.tile(COUNTS, (20, 1)))
    some = np.random.default_rng(0).choice(60, 50, replace=False)
    atoms = many.row_weights_[some] @ many.components_
    np.testing.assert_allclose(many.score_samples(COUNTS), by_hand(atoms), rtol=1e-6)
    total = sum(
        COUNTS[n, t] * np.log(p[n, t] / (1 - p[n, 2] * (n == 0))) for n, t in seen_cells(COUNTS)
    )
    assert model.log_likelihood_ == pytest.approx(total, rel=1e-6)


# -- non-negative parts ---------------------------------------------------------------------------


def test_parts_climb_their_likelihood():
    rng = np.random.default_rng(0)
    blocks, w, h = blocks_of(BINARY), rng.uniform(0.2, 1, (3, 2)), rng.uniform(0.2, 1, (2, 4))
    steps = TanhSteps(2, blocks, 0.07)
    np.testing.assert_allclose(steps.column_mean, MEAN)
    new, found = steps.local_step(blocks[0], RowWeights(w), Parts(h), None)

    def log_likelihood(w, h):
        p = np.tanh(w @ h / 2)
        return sum(np.log(p[n, t] if BINARY[n, t] else 1 - p[n, t]) for n, t in seen_cells(BINARY))

    def objective(w, h):
        return log_likelihood(w, h) - 0.07 * (w.sum() + h.sum())

    assert steps.objective(found, Parts(h)) == pytest.approx(objective(w, h))
    after = steps.global_step(found, Parts(h), None).components
    assert objective(w, h) < objective(new.weights, h) < objective(new.weights, after)
    value = check_surface(_TanhSurface(blocks[0].codes, h, 0.07), w)
    assert value.sum() == pytest.approx(log_likelihood(w, h) - 0.07 * w.sum())
    np.testing.assert_allclose(steps._updated(w, 3 * w, 0 * w + 0.43), w * 3 * w / 0.5)
    back = steps.project(Point(Parts(-h), [RowWeights(-w)]), Point(Parts(h), [RowWeights(w)]))
    np.testing.assert_allclose(back.state.components, 0.3 * h)
    np.testing.assert_allclose(back.local[0].weights, 0.3 * w)


def test_parts_begin_at_the_column_means():
    table = np.ones((3, 4))
    table[0] = [0, 1, 0, 1]
    blocks = blocks_of(table)
    steps = TanhSteps(2, blocks, 0.0)
    starts = [steps.init(blocks, np.random.default_rng(i)) for i in range(500)]
    weights = np.array([rows[0].weights for _, rows in starts])
    components = np.array([state.components for state, _ in starts])
    scale = 2 * np.arctanh((table.sum(axis=0) + 0.5) / 4)
    assert weights.min() == pytest.approx(0.05, abs=0.01)
    assert weights.max() == pytest.approx(0.95, abs=0.01)
    share = components / scale
    np.testing.assert_allclose(share.min(axis=(0, 1)), 0.1, atol=0.02)
    np.testing.assert_allclose(share.max(axis=(0, 1)), 1.9, atol=0.02)
    full = blocks_of(np.ones((1000, 2)))
    state, _ = TanhSteps(1, full, 0.0).init(full, np.random.default_rng(0))
    assert state.components.max() <= 1.9 * 2 * np.arctanh(0.99)


# -- log odds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_a_step_on_the_scale_of_log_odds(bias):
    rng = np.random.default_rng(0)
    blocks, w, v = blocks_of(BINARY), rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    steps = LogisticSteps(2, blocks, 0.3, bias)
    b = rng.normal(size=4) if bias else np.zeros(4)
    odds = logit(MEAN) if bias else np.zeros(4)
    np.testing.assert_allclose(steps.log_odds, odds)
    state = Loadings(v, b)
    new, found = steps.local_step(blocks[0], RowWeights(w), state, None)
    theta = w @ v + b
    curve = np.tanh(theta / 2) / (2 * theta)
    seen, target = ~np.isnan(BINARY), np.nan_to_num(BINARY) - 0.5
    total = sum(
        -np.logaddexp(0, -theta[n, t] if BINARY[n, t] else theta[n, t])
        for n, t in seen_cells(BINARY)
    )
    prior = 0.15 * ((w**2).sum() + (v**2).sum() + ((b - odds) ** 2).sum())
    assert steps.objective(found, state) == pytest.approx(total - prior)
    for n in range(3):
        here = seen[n]
        left = (v[:, here] * curve[n, here]) @ v[:, here].T + 0.3 * np.eye(2)
        right = v[:, here] @ (target[n, here] - curve[n, here] * b[here])
        np.testing.assert_allclose(new.weights[n], np.linalg.solve(left, right))
    after = steps.global_step(found, state, None)
    for t in range(4):
        here = seen[:, t]
        wide = np.column_stack([new.weights, np.ones(3)]) if bias else new.weights
        wide = wide[here]
        left = (wide.T * curve[here, t]) @ wide + 0.3 * np.eye(wide.shape[1])
        right = wide.T @ target[here, t]
        if bias:
            right[-1] += 0.3 * odds[t]
        best = np.linalg.solve(left, right)
        np.testing.assert_allclose(after.components[:, t], best[:2])
        if bias:
            assert after.bias[t] == pytest.approx(best[2])
    value = check_surface(_LogisticSurface(blocks[0].codes, state, 0.3), w)
    assert value.sum() == pytest.approx(total - 0.15 * (w**2).sum())


# -- mixtures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.0, 1.5])
def test_a_step_of_a_mixture_of_unigrams(prior):
    rng = np.random.default_rng(0)
    blocks, phi = blocks_of(COUNTS), rng.random((2, 4))
    phi /= phi.sum(axis=1, keepdims=True)
    pi = np.array([0.3, 0.7])
    steps = UnigramSteps(2, blocks, prior)
    share = (np.nansum(COUNTS, axis=0) + 0.25) / (np.nansum(COUNTS) + 1)
    np.testing.assert_allclose(steps.column_share, share)
    state = Mixture(pi, phi)
    local, found = steps.local_step(blocks[0], None, state, None)
    tokens, taken, total = np.tile(prior * share, (2, 1)), np.zeros(2), 0.0
    for row, own in zip(COUNTS, local.weights, strict=True):
        ok = ~np.isnan(row)
        seen = phi[:, ok].sum(axis=1)
        joint = pi * np.prod((phi[:, ok] / seen[:, None]) ** row[ok], axis=1)
        np.testing.assert_allclose(own, joint / joint.sum())
        total += np.log(joint.sum())
        taken += own
        tokens[:, ok] += own[:, None] * row[ok]
        tokens[:, ~ok] += own[:, None] * row[ok].sum() * phi[:, ~ok] / seen[:, None]
    log_prior = prior * (share * np.log(phi)).sum()
    assert steps.objective(found, state) == pytest.approx(total + log_prior)
    new = steps.global_step(found, state, None)
    np.testing.assert_allclose(new.components, tokens / tokens.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(new.proportions, taken / 3)
    back = steps.project(Point(Mixture(-pi, -phi), ["rows"]), Point(state, []))
    np.testing.assert_allclose(back.state.components, phi)
    np.testing.assert_allclose(back.state.proportions, pi)


def test_unigrams_begin_around_the_column_totals():
    blocks = blocks_of(COUNTS)
    steps = UnigramSteps(3, blocks)
    start, [rows] = steps.init(blocks, np.random.default_rng(0))
    np.testing.assert_allclose(start.proportions, 1 / 3)
    np.testing.assert_allclose(rows.weights, 1 / 3)
    np.testing.assert_allclose(start.components.sum(axis=1), 1)
    # A column's noise is gamma with shape 2, so that its squared variation is one half.
    share = steps.column_share
    draws = np.array([
        steps.init(blocks, np.random.default_rng(i))[0].components / share for i in range(1500)
    ])  # fmt: skip
    ratio = np.log(draws[..., 0] / draws[..., 1])
    assert ratio.var() == pytest.approx(2 * (np.pi**2 / 6 - 1), rel=0.1)


def test_a_mixture_of_bernoullis_begins_with_random_shares():
    blocks = blocks_of(BINARY)
    steps = BernoulliSteps(2, blocks, 0.5)
    start, [rows] = steps.init(blocks, np.random.default_rng(0))
    w = rows.weights
    np.testing.assert_allclose(w.sum(axis=1), 1)
    ones = w.T @ np.nan_to_num(BINARY) + 0.5 * MEAN
    total = w.T @ (~np.isnan(BINARY)) + 0.5
    np.testing.assert_allclose(start.components, ones / total)
    np.testing.assert_allclose(start.proportions, w.sum(axis=0) / 3)
    found = steps.local_step(blocks[0], None, start, None)[1]
    a = start.components
    log_prior = 0.5 * (MEAN * np.log(a) + (1 - MEAN) * np.log(1 - a)).sum()
    assert steps.objective(found, start) == pytest.approx(found.log_likelihood + log_prior)
    nobody = found._replace(share=np.array([0.0, 3.0]), values=0 * a, missing=0.0)
    plain = BernoulliSteps(2, blocks, 0.0)
    assert plain.objective(found, start) == found.log_likelihood
    kept = plain.global_step(nobody, start, None)
    np.testing.assert_allclose(kept.components[0], a[0]), "a group without rows keeps its rates"


# -- scorers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
def test_margins_report_their_penalised_likelihood(missing):
    table = BINARY if missing else np.nan_to_num(BINARY)
    model = fz.Margins(0.3).fit(table)
    ones, seen = np.nansum(table), (~np.isnan(table)).sum()
    centre = np.log((ones + 0.5) / (seen - ones + 0.5))
    a, b = model.row_effects_, model.column_effects_
    total = -0.15 * ((a**2).sum() + ((b - centre) ** 2).sum())
    for n, t in seen_cells(table):
        eta = a[n] + b[t]
        total += table[n, t] * eta - np.logaddexp(0, eta)
    assert model.objective_ == pytest.approx(total, abs=1e-6)
    assert model.n_iter_ == len(model.history_) > 1
    assert model.objective_ == model.history_[-1]["objective"]
    np.testing.assert_allclose(model.score_cells(table), a[:, None] + b, atol=1e-6)
    short = fz.Margins(0.3, max_iter=2).fit(table)
    assert short.n_iter_ == 2


def test_forged_parts_are_not_whole():
    table = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]])
    for model, name in (
        (fz.Margins(), "column_effects_"),
        (fz.Beals(), "conditional_"),
        (fz.DarkDiversity(), "indication_"),
        (fz.ImplicitALS(2), "components_"),
        (fz.EASE(), "weights_"),
        (fz.EASE(), "rates_"),
        (fz.ColumnNeighbours(), "similarities_"),
    ):
        model.fit(table)
        assert model._is_whole()
        setattr(model, name, getattr(model, name)[1:])
        assert not model._is_whole()


def test_forged_rows_are_not_whole():
    table = np.array([[1.0, 0, 1], [0, 1, np.nan], [1, 1, 0]])

    def damaged(**parts):
        model = RowNeighbours(2).fit(table)
        model.rows_ = model.rows_._replace(**parts)
        return model._is_whole()

    rows = RowNeighbours(2).fit(table).rows_
    assert damaged()
    assert damaged(missing_start=np.zeros(4, int), missing=np.zeros(0, int))
    for wrong in (
        {"ones_start": rows.ones_start[1:]},
        {"ones_start": rows.ones_start + 1},
        {"ones_start": np.array([0, 3, 2, len(rows.ones)])},
        {"ones": rows.ones[1:]},
        {"ones": rows.ones - 1},
        {"ones": rows.ones + 1},
        {"missing": rows.missing + 1},
    ):
        assert not damaged(**wrong), wrong
    model = RowNeighbours(2).fit(table)
    model.rates_ = model.rates_[1:]
    assert not model._is_whole()


def test_rows_without_similar_ones_get_the_column_rates():
    table = sparse.csr_array(np.eye(6))
    model = RowNeighbours(2, shrinkage=0.5).fit(table)
    scores = np.concatenate([model._scoring()(block) for block in Blocks.cut(table)])
    np.testing.assert_allclose(scores, np.full((6, 6), 1 / 6))
