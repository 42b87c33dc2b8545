"""AnnData in a zarr store, which is a folder."""

from __future__ import annotations

from pathlib import Path

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions
from falsezero.data.objects import from_annotated


def read_zarr(path: Path, options: ReadOptions) -> Raw:
    """Read X of an AnnData store, or one of its layers."""
    try:
        import anndata
        import zarr as _  # noqa: F401
    except ImportError:
        raise DataError(
            f"{path} is a zarr store, which needs anndata and zarr: pip install falsezero[zarr]."
        ) from None
    found = load_whole(path, "zarr", lambda: anndata.io.read_zarr(path))
    raw = from_annotated(found, options.layer)
    return located(raw.values, raw.rows, raw.columns, path, options.max_gigabytes)


FORMAT = Format(
    "zarr", (".zarr",), reader=read_zarr, options=frozenset({"layer"}), description="a matrix"
)
