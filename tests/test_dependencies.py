"""What is imported is declared, and private names of scikit-learn come from one file."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from numbers import Integral
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from tools.lowest_versions import lowest_versions

import falsezero
from falsezero.base import _sklearn

ROOT = Path(falsezero.__file__).parent
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
NAMES = {
    "scikit-learn": "sklearn",
    "arviz-stats": "arviz_stats",
    "python-calamine": "python_calamine",
}
COMES_WITH = {
    "h5py": "anndata",
    "distributed": "dask",
    "cloudpickle": "dask",
    "fsspec": "dask",
    "PIL": "matplotlib",
}


def imports() -> Iterator[tuple[Path, str, list[str]]]:
    """File, module and names of every absolute import."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name, []) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield path, node.module, [alias.name for alias in node.names]


def declared() -> set[str]:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[\[>]", line)[0] for group in groups for line in group}
    return {NAMES.get(name, name) for name in names}


def test_everything_imported_is_declared() -> None:
    known = declared() | {"falsezero"} | set(sys.stdlib_module_names)
    tops = {module.split(".")[0] for _, module, _ in imports()}
    assert {COMES_WITH.get(top, top) for top in tops} <= known


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    lines = {line for group in groups for line in group if not line.startswith("falsezero[")}
    assert [line for line in lines if not re.search(r">=\d", line)] == []


def test_oldest_versions_are_those_of_the_development_environment() -> None:
    lowest = lowest_versions()
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["arrow"]]
    assert {re.sub(r">=.*", "", line) for line in lines} <= lowest.keys()
    assert f"scipy>={lowest['scipy']}" in project["dependencies"]
    assert not {"falsezero", "ruff", "zarr", "sphinx"} & lowest.keys()


def test_private_names_of_scikit_learn_are_in_one_file() -> None:
    strays = [
        f"{path.relative_to(ROOT)}: {module} {name}"
        for path, module, names in imports()
        for name in names or [""]
        if module.split(".")[0] == "sklearn"
        and any(part.startswith("_") for part in [*module.split("."), name])
        and path != ROOT / "base" / "_sklearn.py"
    ]
    assert strays == []


def test_private_names_of_scikit_learn_do_what_we_expect() -> None:
    class Model(BaseEstimator):
        _parameter_constraints = {
            "size": [_sklearn.Interval(Integral, 1, None, closed="left")],
            "kind": [_sklearn.StrOptions({"a", "b"})],
        }

        def __init__(self, size: int = 1, kind: str = "a") -> None:
            self.size, self.kind = size, kind

        @_sklearn.fit_context(prefer_skip_nested_validation=True)
        def fit(self, X: np.ndarray) -> Model:
            _sklearn.check_feature_names(self, X, reset=True)
            _sklearn.check_n_features(self, X, reset=True)
            return self

    X = np.zeros((2, 3))
    assert Model().fit(X).n_features_in_ == 3
    with pytest.raises(ValueError, match="size"):
        Model(size=0).fit(X)
    with pytest.raises(ValueError, match="kind"):
        Model(kind="c").fit(X)
    with pytest.raises(ValueError, match="3 features"):
        _sklearn.check_n_features(Model().fit(X), np.zeros((2, 4)), reset=False)
    assert _sklearn.get_output_config("transform", Model())["dense"] == "default"
