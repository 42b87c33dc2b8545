"""Write one saved model of every kind, with answers, for `test_golden.py` to load for ever.

``python tests/io/make_golden.py`` adds the files that this version of the file format does not have
yet. It never replaces one: that people's old files can still be read is what they test.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import falsezero as fz
from falsezero import models
from falsezero.io.models import VERSION, save

GOLDEN = Path(__file__).parent / "golden"
SMALL = {"n_components": 2, "max_iter": 20, "n_chains": 1, "warmup": 2, "n_draws": 2, "draws": 2}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "binary-ica-em": ("binary-ica", {"inference": "em"}),
    "bmf-gaussian": ("bmf", {"likelihood": "gaussian"}),
    "discrete-pca-em": ("discrete-pca", {"inference": "em"}),
    "discrete-pca-gibbs": ("discrete-pca", {"inference": "gibbs"}),
    "discrete-pca-collapsed": ("discrete-pca", {"inference": "collapsed_gibbs"}),
    "repeated-looks-visits": ("repeated-looks", {"inference": "gibbs", "row_effects": True}),
    "stacked-average": (
        "stacked-average",
        {"members": [("aspects", [fz.AspectBernoulli(2, prior=1)]), ("ease", fz.EASE())]},
    ),
    "looks-average": ("looks-average", {"n_components": (1, 2)}),
}


def table() -> fz.Table:
    """A small table with names, on which every model can be fitted."""
    values = np.random.default_rng(0).random((10, 5)) < np.linspace(0.2, 0.7, 5)
    return fz.Table(values.astype(float), columns=["a", "b", "c", "d", "é"])


def looks() -> fz.Looks:
    """A small table of repeated looks."""
    return fz.datasets.make_looks(12, 5, 3, 2, random_state=0).looks


QUESTIONS: dict[str, Callable[[], Any]] = {
    "transform": table,
    "score_samples": table,
    "score_cells": table,
    "reconstruct": table,
    "present": looks,
}
"""Methods that a loaded model is asked, and what about."""
ASKED = {
    "stacked-average": ["reconstruct"],
    "looks-average": ["present"],
    "repeated-looks-visits": ["present"],
}
"""Files that are asked something else than the first three."""


def answer(model: Any, method: str) -> np.ndarray:
    """Numbers that a loaded model must still give."""
    return np.asarray(getattr(model, method)(QUESTIONS[method]()), dtype=float)


def fitted(kind: str, options: dict[str, Any], data: Any) -> Any:
    """A small fit of a kind of model."""
    maker = models.model_class(kind)
    known = maker().get_params()
    small = {key: value for key, value in SMALL.items() if key in known}
    if "random_state" in known:
        small["random_state"] = 0
    return maker(**small | options).fit(data)


def main() -> None:
    """Fit, ask and save every kind of model that has no file yet."""
    folder = GOLDEN / f"version-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    expected = {}
    if (folder / "answers.npz").exists():
        with np.load(folder / "answers.npz") as archive:
            expected = dict(archive)
    kinds = {name: (name, {}) for name in models.SAVED} | VARIANTS
    missing = {name: kind for name, kind in kinds.items() if not (folder / f"{name}.fz").exists()}
    for name, (kind, options) in missing.items():
        methods = ASKED.get(name, ["transform", "score_samples", "score_cells"])
        model = fitted(kind, options, QUESTIONS[methods[0]]())
        save(model, folder / f"{name}.fz")
        for method in methods:
            if hasattr(model, method):
                expected[f"{name}/{method}"] = answer(model, method)
    np.savez_compressed(folder / "answers.npz", **expected)
    print(f"{len(missing)} models added to {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
