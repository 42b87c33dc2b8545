import numpy as np
import pytest

import falsezero as fz


def fitted(A, W):
    """A model with given parameters, as if it had been learnt."""
    X = (np.random.default_rng(0).random((len(W), A.shape[1])) < W @ A).astype(float)
    model = fz.AspectBernoulli(len(A), random_state=0, tol=1e-3).fit(X)
    model.components_, model.row_weights_ = A, W
    return model, X


@pytest.fixture(scope="module")
def spoilt_digits():
    digits = fz.datasets.make_digits_demo().table
    spoilt = fz.corrupt(digits, omit=0.4, random_state=0)
    model = fz.AspectBernoulli(12, prior=0, n_init=4, random_state=0, tol=1e-5).fit(spoilt)
    return digits, spoilt, model


def test_phantoms_are_judged_against_the_density_of_the_table():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(4), 50)
    sparse_content = np.where(rng.random((2, 100)) < 0.08, 0.6, 0.0)
    white = np.full(100, 0.003)
    black = np.full(100, 0.97)
    model, _ = fitted(np.vstack([sparse_content, white, black]), W)
    found = fz.find_phantoms(model)
    assert found.kinds.tolist() == ["content", "content", "white", "black"]
    np.testing.assert_array_equal(found.keep, [1, 1, 0, 0])
    assert found.white.tolist() == [2]
    assert found.black.tolist() == [3]


def test_a_component_of_one_column_is_not_a_phantom():
    A = np.full((2, 200), 0.2)
    A[1] = 0.0
    A[1, 7] = 0.95
    model, _ = fitted(A, np.full((30, 2), 0.5))
    assert fz.find_phantoms(model).kinds[1] == "content"


def test_omissions_bring_one_white_phantom(spoilt_digits):
    _, _, model = spoilt_digits
    found = fz.find_phantoms(model)
    assert len(found.white) == 1
    assert len(found.black) == 0
    assert "white" in repr(found)


def test_removing_the_phantom_restores_omissions(spoilt_digits):
    digits, spoilt, model = spoilt_digits
    truth, seen = digits.to_numpy(), spoilt.to_numpy()

    def removal(keep):
        clean = fz.denoise(model, spoilt, keep=keep).binary.to_numpy()
        fp = clean[truth == 0].mean()
        fn = 1 - clean[(truth == 1) & (seen == 0)].mean()
        return 1 - (fp + fn) / 2

    assert removal(None) > removal(np.ones(12)) + 0.04
    assert removal(None) > 0.8


def test_binary_is_the_rounded_probability(spoilt_digits):
    _, spoilt, model = spoilt_digits
    clean = fz.denoise(model, spoilt, threshold=0.3)
    expected = (clean.probability.to_numpy() >= 0.3).astype(float)
    np.testing.assert_array_equal(clean.binary.to_numpy(), expected)


def test_the_digits_paper_figures():
    try:
        digits = fz.datasets.load_mfeat_digits(threshold=4).table
    except FileNotFoundError as error:
        pytest.skip(str(error))
    truth = digits.to_numpy()
    spoilt = fz.corrupt(digits, omit=0.4, random_state=0)
    model = fz.AspectBernoulli(14, prior=0, random_state=0, tol=1e-5).fit(spoilt)
    rates = []
    for keep in (None, np.ones(14)):
        clean = fz.denoise(model, spoilt, keep=keep).binary.to_numpy()
        fn = 1 - clean[(truth == 1) & (spoilt.to_numpy() == 0)].mean()
        rates.append(1 - (clean[truth == 0].mean() + fn) / 2)
    assert rates[0] >= 0.81
    assert rates[0] >= rates[1] + 0.04
    added = fz.corrupt(digits, add=0.4, random_state=0)
    model = fz.AspectBernoulli(15, prior=0, random_state=0, tol=1e-5).fit(added)
    assert len(fz.find_phantoms(model).black) == 1


def test_when_all_is_noise_the_user_is_told():
    A = np.vstack([np.full(30, 0.95), np.full(30, 0.0)])
    model, X = fitted(A, np.full((20, 2), 0.5))
    with pytest.raises(ValueError, match=r"Every component.*keep="):
        fz.denoise(model, X)


def test_models_without_phantoms_say_so():
    from sklearn.decomposition import PCA

    with pytest.raises(TypeError, match="PCA"):
        fz.find_phantoms(PCA().fit(np.eye(5)))


def test_only_probabilities_are_denoised():
    X = np.eye(6)
    model = fz.PLSA(2, random_state=0).fit(X)
    with pytest.raises(TypeError, match="PLSA gives no probability of a one"):
        fz.denoise(model, X, keep=[1, 0])


def test_a_factorisation_is_denoised_by_its_own_reconstruction():
    X = (np.random.default_rng(0).random((12, 6)) < 0.4).astype(float)
    model = fz.BinaryMatrixFactorization(n_chains=1, warmup=5, n_draws=5, random_state=0).fit(X)
    keep = np.zeros(model.components_.shape[0])
    keep[0] = 1
    clean = fz.denoise(model, X, keep=keep).probability.to_numpy()
    np.testing.assert_allclose(clean, model.reconstruct(X, keep=keep))


def test_probabilities_too_many_to_keep_are_refused(spoilt_digits, monkeypatch):
    from falsezero.analysis import noise

    _, spoilt, model = spoilt_digits
    monkeypatch.setattr(noise, "_MOST_DENSE", 1000)
    clean = fz.denoise(model, spoilt)
    with pytest.raises(ValueError, match="1797 x 64 table take too much memory; ask for binary"):
        clean.probability  # noqa: B018
    assert clean.binary.shape == (1797, 64)
