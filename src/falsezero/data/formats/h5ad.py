"""AnnData files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, FileReadError
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.objects import from_annotated

_PROBE = Path(__file__).with_name("_probe_hdf5.py")
_MEMORY = 4 << 30
_SECONDS, _BYTES_A_SECOND = 60, 10_000_000


def read_h5ad(path: Path, options: ReadOptions) -> Raw:
    """Read X of an AnnData file, or one of its layers."""
    try:
        import anndata
    except ImportError:
        raise DataError(
            f"{path} is an AnnData file, which needs anndata: pip install falsezero[anndata]."
        ) from None
    check_hdf5(path, options.max_gigabytes)
    found = load_whole(path, ".h5ad", lambda: anndata.read_h5ad(path))
    raw = from_annotated(found, options.layer)
    return located(raw.values, raw.rows, raw.columns, path, options.max_gigabytes)


def check_hdf5(path: Path, max_gigabytes: float | None = None, kind: str = ".h5ad") -> None:
    """Refuse an HDF5 file that is damaged, asks for too much, or would read other files."""
    if not sys.executable:
        return
    seconds = _SECONDS + path.stat().st_size / _BYTES_A_SECOND
    command = [sys.executable, "-I", str(_PROBE), str(path), str(_MEMORY)]
    try:
        probe = subprocess.run(command, capture_output=True, timeout=seconds, check=True)
        found = json.loads(probe.stdout)
    except (subprocess.SubprocessError, ValueError):
        raise FileReadError(
            f"{path} is damaged or cut off: it is not a complete {kind} file."
        ) from None
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
