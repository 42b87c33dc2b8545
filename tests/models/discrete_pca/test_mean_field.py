"""Mean field for Discrete PCA at one point: its bound, its steps, and where it begins."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    MODELS,
    blocks_of,
    steps_of,
)

from falsezero.data.blocks import Blocks
from falsezero.models.discrete_pca import mean_field
from falsezero.models.discrete_pca.family import Hyper, learnt_priors, read_family
from falsezero.models.discrete_pca.mean_field import MeanFieldSteps, Rows

EVERY = pytest.mark.parametrize("name", list(MODELS))


def some_rows():
    shape = np.array([[1.3, 3.9], [2.4, 0.7]])
    return Rows(shape, np.array([[1.1, 1.9], [2.2, 0.8]]))


def some_words():
    return np.random.default_rng(0).uniform(0.3, 4, (4, 2))


def dirichlet_divergence(q, p):
    """KL(Dir(q) || Dir(p)): densities at one point, and the means of the logarithms."""
    at = np.full(len(q), 1 / len(q))
    log = digamma(q) - digamma(q.sum())
    gap = stats.dirichlet(q).logpdf(at) - stats.dirichlet(p).logpdf(at)
    return gap + ((q - p) * (log - np.log(at))).sum()


def gamma_divergence(a, b, alpha, beta):
    """KL(Gamma(a, b) || Gamma(alpha, beta)) by quadrature over log l."""
    q, p = stats.gamma(a, scale=1 / b), stats.gamma(alpha, scale=1 / beta)

    def integrand(u):
        x = np.exp(u)
        return q.pdf(x) * x * (q.logpdf(x) - p.logpdf(x))

    return quad(integrand, -60, 8, limit=500, points=[-5.0, 0.0, 2.0])[0]


def mean_logs(steps, rows, words):
    """E log of the weights and of Theta."""
    family = steps.family
    log_theta = np.empty_like(words)
    for g in range(len(family.names)):
        inside = family.groups == g
        log_theta[inside] = digamma(words[inside]) - digamma(words[inside].sum(axis=0))
    if family.gamma:
        return digamma(rows.shape) - np.log(rows.rate), log_theta
    return digamma(rows.shape) - digamma(rows.shape.sum(axis=1, keepdims=True)), log_theta


@EVERY
def test_the_bound_and_its_step_by_loops(name):
    steps, [block] = steps_of(MeanFieldSteps, name), blocks_of(COUNTS)
    family, rows, words = steps.family, some_rows(), some_words()
    log_l, log_theta = mean_logs(steps, rows, words)
    expected, by_row, by_word = 0.0, np.zeros((2, 2)), np.zeros((4, 2))
    for i, j in np.ndindex(2, 4):
        joint = np.exp(log_l[i] + log_theta[j])
        expected += COUNTS[i, j] * np.log(joint.sum())
        by_row[i] += COUNTS[i, j] * joint / joint.sum()
        by_word[j] += COUNTS[i, j] * joint / joint.sum()
    expected -= gammaln(COUNTS + 1).sum()
    mean, pull = rows.shape / rows.rate, np.zeros(2)
    for i in range(2):
        for g in range(len(family.names)):
            inside = (family.groups == g) & ~family.poisson
            expected += gammaln(COUNTS[i, inside].sum() + 1)
            pull[i] += COUNTS[i, inside].sum() / mean[i].sum()
        if family.gamma:
            bags = COUNTS[i, ~family.poisson].sum()
            expected -= bags * np.log(mean[i].sum()) + family.poisson.any() * mean[i].sum()
            for k in range(2):
                expected -= gamma_divergence(rows.shape[i, k], rows.rate[i, k], ALPHA[k], BETA[k])
        else:
            expected -= dirichlet_divergence(rows.shape[i], ALPHA)
    for g in range(len(family.names)):
        inside = family.groups == g
        for k in range(2):
            prior = np.full(inside.sum(), ETA)
            expected -= dirichlet_divergence(words[inside, k], prior)
    state = steps.read_words(words, Hyper(ALPHA, BETA))
    new, found = steps.local_step(block, rows, state, None)
    assert steps.objective(found, state) == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(new.shape, ALPHA + by_row, rtol=1e-10)
    np.testing.assert_allclose(
        steps.global_step(found, state, None).shape, ETA + by_word, rtol=1e-10
    )
    assert found.n_rows == 2
    if family.gamma:
        rate = BETA + family.poisson.any() + pull[:, None]
        np.testing.assert_allclose(new.rate, np.broadcast_to(rate, (2, 2)))


@pytest.mark.parametrize("inner", [1, 2, 3])
def test_rows_take_so_many_steps_before_the_words(inner):
    steps, [block] = steps_of(MeanFieldSteps, "dirichlet", inner=inner), blocks_of(COUNTS)
    state, rows = steps.read_words(some_words(), Hyper(ALPHA, BETA)), some_rows()
    new, _ = steps.local_step(block, rows, state, None)
    for _ in range(inner):
        rows, *_ = steps.row_step(block, rows, state, 0)
    np.testing.assert_array_equal(new.shape, rows.shape)


def test_rows_that_settle_take_one_more_step():
    """Steps end once no count moves by a thousandth."""
    steps, [block] = steps_of(MeanFieldSteps, "dirichlet", inner=500), blocks_of(COUNTS)
    state, rows = steps.read_words(some_words(), Hyper(ALPHA, BETA)), some_rows()
    new, _ = steps.local_step(block, rows, state, None)
    while True:
        before = rows
        rows, *_ = steps.row_step(block, rows, state, 0)
        if np.abs(rows.shape - before.shape).max() < 1e-3:
            break
    last, *_ = steps.row_step(block, rows, state, 0)
    np.testing.assert_array_equal(new.shape, last.shape)


def test_priors_are_learnt_from_the_new_rows():
    for name in ("dirichlet", "gamma-poisson"):
        steps, [block] = steps_of(MeanFieldSteps, name, learn=(True, True)), blocks_of(COUNTS)
        state = steps.read_words(some_words(), Hyper(ALPHA, BETA))
        new, found = steps.local_step(block, some_rows(), state, None)
        log_l, _ = mean_logs(steps, new, some_words())
        np.testing.assert_allclose(found.sum_log, log_l.sum(axis=0), rtol=1e-9)
        if name == "gamma-poisson":
            np.testing.assert_allclose(found.sum_mean, (new.shape / new.rate).sum(axis=0))
        after = steps.global_step(found, state, None)
        log, mean = found.sum_log / found.n_rows, found.sum_mean / found.n_rows
        learnt = learnt_priors(steps.family, state.hyper, (True, True), log, mean)
        np.testing.assert_array_equal(after.hyper.alpha, learnt.alpha)


class InFiles(Blocks):
    """Blocks that say that their rows lie in files."""

    in_files = True


def test_tables_in_files_begin_from_their_first_rows(monkeypatch):
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.5, (40, 5)).astype(float)
    parts = list(Blocks.cut(sparse.csr_array(counts), block_rows=10))
    family = read_family("dirichlet-multinomial", None, 5)
    stored = np.cumsum([part.csr.nnz for part in parts])
    for files, limit, expected in (
        (True, stored[1] - 1, 2),
        (True, stored[1], 3),
        (True, 10**6, 4),
        (False, 1, 4),
    ):
        monkeypatch.setattr(mean_field, "_START_ENTRIES", limit)
        blocks = (InFiles if files else Blocks)(parts, np.float64)
        assert len(mean_field.first_rows(blocks)) == expected
        steps = MeanFieldSteps(family, blocks, Hyper(ALPHA, BETA), ETA)
        state, rows = steps.init(blocks, np.random.default_rng(1))
        # What was dealt out is scaled up to the whole table; rows beyond begin with even shares.
        assert (state.shape - ETA).sum() == pytest.approx(counts.sum(), rel=1e-5)
        for i, (part, own) in enumerate(zip(parts, rows, strict=True)):
            tokens = part.csr.toarray().sum(axis=1)
            np.testing.assert_allclose((own.shape - ALPHA).sum(axis=1), tokens, rtol=1e-5)
            even = np.allclose(own.shape - ALPHA, tokens[:, None] / 2)
            assert even is (i >= expected)
