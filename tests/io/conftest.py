from __future__ import annotations

from typing import Any

import pytest

import falsezero as fz
from falsezero.io.models import save


@pytest.fixture(scope="module")
def table() -> fz.Table:
    values = fz.datasets.make_aspect_bernoulli(40, 9, 3, random_state=0).table.values
    return fz.Table(values, columns=[f"genus {i} ü" for i in range(9)])


@pytest.fixture(scope="module")
def model(table: fz.Table) -> Any:
    return fz.AspectBernoulli(n_components=3, random_state=0, tol=1e-4).fit(table)


@pytest.fixture(scope="module")
def saved(model: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("io") / "model.fz"
    save(model, path)
    return path.read_bytes()
