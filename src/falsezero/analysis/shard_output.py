"""Answers about a table in files, worked out file by file and written as Parquet."""

from __future__ import annotations

import copy
import io
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.analysis.best_cells import BestCells, Search
from falsezero.backends import map_shards, workers
from falsezero.data.blocks import Block, Blocks
from falsezero.data.errors import DataError, import_for
from falsezero.data.numbers import checked_count
from falsezero.data.row_files import write_bytes
from falsezero.data.shard_files import LongNames, row_labels
from falsezero.data.shards import Shards

__all__ = ["transform_to_parquet", "zeros_to_parquet"]


def transform_to_parquet(model: Any, shards: Shards, folder: str | PathLike[str]) -> list[str]:
    """Write the row weights of a table in files, one Parquet file for each of its files.

    Within `falsezero.on_dask` every worker reads, transforms and writes files of its own; no weight
    passes through this process.

    Parameters
    ----------
    model : fitted model that takes `Shards`
    shards : Shards
    folder : path or fsspec address
        Where to write ``weights-00000.parquet`` and so on: a column ``row`` with the label of a
        long list or the position in the whole table, and one column for each component.

    Returns
    -------
    list of str
        The files, in the order of the rows.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(60, 10, 2, random_state=0).table.to_numpy()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", table)
    ...     shards = fz.Shards([f"{folder}/rows.npy"])
    ...     model = fz.AspectBernoulli(2, random_state=0).fit(shards)
    ...     pd.read_parquet(transform_to_parquet(model, shards, folder)[0]).columns.tolist()
    ['row', 'aspectbernoulli0', 'aspectbernoulli1']
    """
    names = numbered_files(folder, "weights", len(shards.files))
    task = partial(_write_weights, without_rows(model), shards.long)
    return over_files(model, task, shards, shards.files, names)


def zeros_to_parquet(
    model: Any, shards: Shards, path: str | PathLike[str], *, n: int = 1000
) -> int:
    """Write the zeros of a table in files that a model would sooner have as ones, best first.

    The list is exact: each file is searched for its best `n` (see `falsezero.false_absences`), and
    the best of those are kept. Costs grow with the rows and the length of the list, not with the
    cells.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    shards : Shards
    path : path or fsspec address
        A Parquet file with the columns ``row``, ``column`` (labels of long lists, otherwise
        positions) and ``expected``, the probability of a one.
    n : int, default=1000

    Returns
    -------
    int
        How many zeros were written.
    """
    if model.capabilities.link != "convex":
        raise DataError(
            f"{type(model).__name__} has no components that are probabilities; zeros_to_parquet "
            "needs AspectBernoulli or BinaryICA."
        )
    task = partial(_best_zeros, without_rows(model), shards.long, checked_count(n, "n"))
    parts = over_files(model, task, shards, shards.files)
    rows, columns, expected = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Files come in the order of the rows, so that equal zeros stay in the order of the table.
    best = np.argsort(-expected, kind="stable")[:n]
    labels = np.arange(shards.shape[1]) if shards.columns is None else np.array(shards.columns)
    found = {"row": rows[best], "column": labels[columns[best]], "expected": expected[best]}
    write_parquet(fspath(path), found)
    return len(best)


def over_files(model: Any, task: Any, shards: Shards, *columns: Any) -> list[Any]:
    """Apply a function to the rows of each file, where they are read."""
    blocks = model._blocks(shards, reset=False)
    with workers(model.n_jobs, len(blocks)) as run:
        return map_shards(run, task, blocks, *columns)


def numbered_files(folder: str | PathLike[str], name: str, number: int) -> list[str]:
    """Names of Parquet files in a folder, which is made, or at an fsspec address."""
    address = fspath(folder).rstrip("/")
    if "://" not in address:
        Path(address).mkdir(parents=True, exist_ok=True)
    return [f"{address}/{name}-{i:05d}.parquet" for i in range(number)]


def without_rows(model: Any) -> Any:
    """A copy without the training rows, so that little is sent to the workers."""
    light = copy.copy(model)
    for name in {"n_jobs", "callback"} & vars(light).keys():
        setattr(light, name, None)
    for name in ("row_weights_", "row_effects_", "weight_files_", "history_", "chains_"):
        light.__dict__.pop(name, None)
    return light


def _write_weights(model: Any, long: LongNames | None, block: Block, file: str, name: str) -> str:
    weights = _weights_of(model, block)
    parts = dict(zip(model.get_feature_names_out(), weights.T, strict=True))
    write_parquet(name, {"row": row_labels(block.rows, file, long), **parts})
    return name


def _best_zeros(
    model: Any, long: LongNames | None, n: int, block: Block, file: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    search = Search(model.components_, n)
    search.visit(0, _weights_of(model, block).astype(float), block.csr, block.missing_csr)
    found: BestCells = search.found()
    return row_labels(block.rows, file, long)[found.rows], found.columns, found.scores


def _weights_of(model: Any, block: Block) -> np.ndarray:
    return np.asarray(model._settle(Blocks([replace(block, start=0)], np.dtype(float))))


def write_parquet(path: str, columns: Any) -> None:
    """Write columns by name as a Parquet file, local or at an fsspec address."""
    with import_for(f"{path}, a Parquet file,", "pyarrow", "falsezero[arrow]"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    write_bytes(path, buffer.getvalue())
