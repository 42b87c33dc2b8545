"""Write one saved model of every kind, with answers, for `test_golden.py` to load for ever.

Run ``python tests/io/make_golden.py`` once for a new version of the file format. Never replace the
files of a version that has been released: that people's old files can be read is what they test.
"""

from __future__ import annotations

import sys
import warnings
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
}


def table() -> fz.Table:
    """A small table with names, on which every model can be fitted."""
    values = np.random.default_rng(0).random((10, 5)) < np.linspace(0.2, 0.7, 5)
    return fz.Table(values.astype(float), columns=["a", "b", "c", "d", "é"])


def answers(model: Any) -> dict[str, np.ndarray]:
    """Numbers that a loaded model must still give."""
    found = {}
    for method in ("transform", "score_samples", "score_cells"):
        if hasattr(model, method):
            found[method] = np.asarray(getattr(model, method)(table()), dtype=float)
    return found


def main() -> None:
    """Fit, ask and save every kind of model."""
    folder = GOLDEN / f"version-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    registry = getattr(models, "REGISTRY", models.MODELS)
    kinds = {name: (name, {}) for name in registry} | VARIANTS
    expected = {}
    warnings.simplefilter("ignore")
    for name, (kind, options) in kinds.items():
        maker = models.model_class(kind)
        known = maker().get_params()
        small = {key: value for key, value in SMALL.items() if key in known}
        if "random_state" in known:
            small["random_state"] = 0
        model = maker(**small, **options).fit(table())
        save(model, folder / f"{name}.fz")
        for method, numbers in answers(model).items():
            expected[f"{name}/{method}"] = numbers
    np.savez_compressed(folder / "answers.npz", **expected)
    print(f"{len(kinds)} models in {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
