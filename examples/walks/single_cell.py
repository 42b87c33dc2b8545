"""Single cells: AnnData in, layers out, in scanpy's manner.

python examples/walks/single_cell.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import anndata
import numpy as np
from scipy import sparse

import falsezero as fz


def counts() -> anndata.AnnData:
    """120 cells of two types by 40 genes, with drop-out that differs from cell to cell."""
    rng = np.random.default_rng(2)
    kind = np.arange(120) % 2
    mean = np.where(
        np.outer(kind, np.arange(40) < 20) + np.outer(1 - kind, np.arange(40) >= 20), 3, 0.1
    )
    depth = rng.uniform(0.2, 1.0, 120)[:, None]
    adata = anndata.AnnData(sparse.csr_matrix(rng.poisson(mean * depth).astype(float)))
    adata.obs_names = [f"cell{i}" for i in range(120)]
    adata.var_names = [f"gene{t}" for t in range(40)]
    adata.obs["kind"] = np.array(["A", "B"])[kind]
    return adata


def walk(folder: Path) -> Path:
    """What to hand on: the same object with weights, components and a cleaned layer."""
    adata = counts()
    table = fz.as_table(adata, binarize=0)
    model = fz.AspectBernoulli(3, prior=0, n_init=5, random_state=0).fit(table)
    fz.to_anndata(model, adata, key="causes")
    fz.to_anndata(fz.denoise(model, table), adata, key="detected")
    adata.write_h5ad(folder / "cells.h5ad")
    again = anndata.read_h5ad(folder / "cells.h5ad")
    means = [again.layers["detected"][again.obs["kind"] == kind].mean(axis=0) for kind in "AB"]
    assert np.abs(means[0] - means[1]).min() > 0.2, "the two types differ in every gene"
    return folder / "cells.h5ad"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
