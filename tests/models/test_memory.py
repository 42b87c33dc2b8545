"""Nothing fills a table that is too large for memory; it says so first."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data import values
from falsezero.models import REGISTRY, model_class

SMALL = {"n_components": 2, "max_iter": 2, "n_row_features": 2, "n_column_features": 2}
SMALL |= {"n_chains": 1, "warmup": 1, "n_draws": 1, "random_state": 0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REGISTRY)
def test_a_huge_sparse_table_is_refused_before_it_is_filled(name, monkeypatch):
    X = sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1
    kind = model_class(name)
    model = kind(**{key: value for key, value in SMALL.items() if key in kind().get_params()})
    model.fit(X)
    monkeypatch.setattr(values, "_MOST_DENSE", 1000)
    with pytest.raises(ValueError, match="needs all 40 x 30 cells in memory"):
        model.reconstruct(X)
    with pytest.raises(ValueError, match="needs all 40 x 30 cells in memory"):
        model.reconstruct(fz.Table(X))
    if name in ("bmf", "repeated-looks"):
        with pytest.raises(ValueError, match=r"needs all 40 x 30 .*; fit a sample of the rows"):
            model.fit(X)


def test_logistic_pca_makes_few_rows_dense_at_a_time(monkeypatch):
    X = sparse.random_array((4000, 50), density=0.05, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1
    monkeypatch.setattr("falsezero.base.factor_model._SMALL", 0)
    monkeypatch.setattr("falsezero.data.blocks._TILE_CELLS", 128 * 50)
    largest = 0
    where = np.where

    def watched(condition, *rest):
        nonlocal largest
        largest = max(largest, np.size(condition))
        return where(condition, *rest)

    monkeypatch.setattr("falsezero.models.baselines.logistic_pca.np.where", watched)
    fz.LogisticPCA(2, max_iter=1, random_state=0).fit(X)
    assert 0 < largest <= 128 * 50
