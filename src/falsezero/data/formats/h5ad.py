"""AnnData files."""

from __future__ import annotations

from pathlib import Path

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions
from falsezero.data.objects import from_annotated


def read_h5ad(path: Path, options: ReadOptions) -> Raw:
    """Read X of an AnnData file, or one of its layers."""
    try:
        import anndata
    except ImportError:
        raise DataError(
            f"{path} is an AnnData file, which needs anndata: pip install falsezero[anndata]."
        ) from None
    found = load_whole(path, ".h5ad", lambda: anndata.read_h5ad(path))
    raw = from_annotated(found, options.layer)
    return located(raw.values, raw.rows, raw.columns, path)


FORMAT = Format(
    "AnnData",
    (".h5ad",),
    reader=read_h5ad,
    options=frozenset({"layer"}),
    description="a matrix",
)
