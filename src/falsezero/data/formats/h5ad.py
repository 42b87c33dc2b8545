"""AnnData files."""

from __future__ import annotations

from pathlib import Path

from falsezero.data.checks import Raw
from falsezero.data.errors import FileReadError, import_for
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.formats._probe import probed
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.objects import from_annotated


def read_h5ad(path: Path, options: ReadOptions) -> Raw:
    """Read X of an AnnData file, or one of its layers."""
    with import_for(f"{path}, an AnnData file,", "anndata", "falsezero[anndata]"):
        import anndata
    check_hdf5(path, options.max_gigabytes)
    found = load_whole(path, ".h5ad", lambda: anndata.read_h5ad(path))
    raw = from_annotated(found, options.layer)
    return located(raw.values, raw.rows, raw.columns, path, options.max_gigabytes)


def check_hdf5(path: Path, max_gigabytes: float | None = None, kind: str = ".h5ad") -> None:
    """Refuse an HDF5 file that is damaged, asks for too much, or would read other files."""
    found = probed(path, "_probe_hdf5.py", kind)
    if found is None:
        return
    if found["elsewhere"]:
        raise FileReadError(
            f"{path} takes {found['elsewhere'][0]!r} from another file, which is not read; save "
            "everything in one."
        )
    check_size(path, found["bytes"], max_gigabytes)


FORMAT = Format(
    "AnnData",
    (".h5ad",),
    reader=read_h5ad,
    options=frozenset({"layer"}),
    description="a matrix",
)
