"""A data scientist in a notebook: a pipeline, a page inline, frames.

python examples/walks/data_scientist.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELLS = [
    """
import numpy as np, pandas as pd, falsezero as fz
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
rng = np.random.default_rng(0)
segment = rng.integers(2, size=150)
basket = pd.DataFrame(
    (rng.random((150, 16)) < np.where(np.arange(16) % 2 == segment[:, None], 0.6, 0.1)).astype(int),
    columns=[f"item {t}" for t in range(16)],
)
basket.head()
""",
    """
pipeline = make_pipeline(fz.AspectBernoulli(2, random_state=0), LogisticRegression())
score = cross_val_score(pipeline, basket, segment, cv=3).mean()
assert score > 0.85, score
score
""",
    """
model = fz.AspectBernoulli(2, random_state=0).fit(basket)
assert model.inverse_transform(model.transform(basket)).shape == basket.shape
fz.surprising_zeros(model, basket, n=5)
""",
    "fz.explore(model, basket)",
]


def walk(folder: Path) -> Path:
    """What to show a colleague: the notebook with its outputs."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in CELLS])
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    shown = book.cells[-1].outputs[0]["data"]["text/html"]
    assert shown.startswith("<iframe srcdoc="), "the explorer is inline"
    nbformat.write(book, folder / "baskets.ipynb")
    return folder / "baskets.ipynb"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
