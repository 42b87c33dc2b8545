"""MatrixMarket files, gzipped or not."""

from __future__ import annotations

import re
from pathlib import Path

from falsezero.data.checks import Raw
from falsezero.data.errors import FileReadError
from falsezero.data.files import located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions


def read_mtx(path: Path, options: ReadOptions) -> Raw:
    """Read a MatrixMarket file, gzipped or not."""
    from scipy.io import mmread

    try:
        values = mmread(path, spmatrix=False)
    except Exception as problem:
        line = re.search(r"[Ll]ine (\d+)", str(problem))
        where = f" line {line[1]}" if line else ""
        raise FileReadError(
            f"{path}{where} is damaged or cut off: it is not a complete MatrixMarket file."
        ) from None
    return located(values, None, None, path)


FORMAT = Format("MatrixMarket", (".mtx", ".mtx.gz"), reader=read_mtx, description="a matrix")
