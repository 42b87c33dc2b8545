"""Containers of other libraries, known by their shape: AnnData, graphs, xarray, series, baskets."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.cells import is_number
from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, choices, suggest
from falsezero.data.labels import tidy_labels
from falsezero.data.levels import levels_of
from falsezero.data.pairs import Pairs, encode, pairs_to_raw

__all__ = ["are_baskets", "from_annotated", "from_baskets", "from_object"]


def from_object(
    obj: Any, *, layer: str | None = None, value: str | None = None, rows: Any, columns: Any
) -> Raw | None:
    """Read AnnData, a graph or an xarray DataArray; None when it is something else."""
    if all(hasattr(obj, name) for name in ("X", "layers", "obs_names", "var_names")):
        return from_annotated(obj, layer)
    if all(hasattr(obj, name) for name in ("nodes", "adjacency", "is_directed")):
        return _graph(obj, value, rows, columns)
    if all(hasattr(obj, name) for name in ("data_vars", "dims", "coords")):
        return _data_array(_only_variable(obj, layer))
    if all(hasattr(obj, name) for name in ("dims", "coords", "values")):
        return _data_array(obj)
    if getattr(obj, "ndim", 0) == 1 and levels_of(getattr(obj, "index", None)):
        return _series(obj)
    return None


def are_baskets(obj: Any) -> bool:
    """Whether an object lists what each row has, in a list or by label in a dict.

    A row has a set or a list of column labels, or a dict (a Counter) of labels with their values.

    >>> are_baskets([{"bread"}, {"milk"}]), are_baskets({"Ann": ["bread", "milk"], "Bo": []})
    (True, True)
    >>> are_baskets([["1", "0"], ["0", "1"]]), are_baskets([[1, 0], [0, 1]])
    (False, False)
    """
    listed = list(obj.values()) if isinstance(obj, dict) else obj
    if not isinstance(listed, list | tuple) or not listed:
        return False
    if all(isinstance(basket, set | frozenset | dict) for basket in listed):
        return True
    if not all(isinstance(basket, set | frozenset | list | tuple) for basket in listed):
        return False
    if not isinstance(next(chain.from_iterable(listed), None), str):
        return False
    entries = list(chain.from_iterable(listed))
    return all(isinstance(e, str) for e in entries) and not all(map(is_number, entries))


def from_baskets(obj: Any) -> Raw:
    """A table from what each row has: ones for sets and lists of labels, values for dicts."""
    rows = list(obj) if isinstance(obj, dict) else None
    baskets = list(obj.values()) if isinstance(obj, dict) else list(obj)
    held = [b if isinstance(b, dict) else dict.fromkeys(b, 1) for b in baskets]
    columns = sorted(set().union(*held), key=str)
    column_of = {label: position for position, label in enumerate(columns)}
    where = [(i, column_of[label]) for i, basket in enumerate(held) for label in basket]
    at = np.array(where, dtype=np.intp).reshape(-1, 2).T
    values = np.array([value for basket in held for value in basket.values()], dtype=float)
    matrix: Any = sp.coo_array((values, (at[0], at[1])), (len(baskets), len(columns)))
    return Raw(matrix, rows, columns, "The list of rows")


def _series(series: Any) -> Raw:
    """A pandas Series by pairs: the last level names columns, those before it rows."""
    last = [label[-1] for label in series.index]
    first = [label[0] if len(label) == 2 else label[:-1] for label in series.index]
    row_codes, rows = encode(first)
    column_codes, columns = encode(last)
    values = np.asarray(series.to_numpy(dtype=float, na_value=np.nan))
    known = tidy_labels(rows, "row"), tidy_labels(columns, "column")

    def place(entry: int) -> str:
        return f"The series at position {entry}"

    raw = pairs_to_raw(Pairs(row_codes, column_codes, values, *known, "The series", place))
    before = series.index.droplevel(-1).unique()
    return raw if levels_of(before) is None else raw._replace(rows=before)


def from_annotated(obj: Any, layer: str | None) -> Raw:
    """X of an AnnData object, or one of its layers."""
    if layer is not None and layer not in obj.layers:
        remedy = suggest(layer, obj.layers.keys(), "its layers")
        raise DataError(f"The AnnData object has no layer {layer!r}; {remedy}")
    values = obj.X if layer is None else obj.layers[layer]
    if values is None:
        remedy = suggest("", obj.layers.keys(), "its layers")
        raise DataError(f"The AnnData object has no X; pass layer= with one of {remedy}")
    if hasattr(values, "to_memory"):
        # A backed object keeps X in its file until it is requested.
        values = values.to_memory()
    elif not sp.issparse(values):
        values = np.asarray(values[...])
    rows, columns = np.asarray(obj.obs_names), np.asarray(obj.var_names)
    return Raw(values, rows, columns, "The AnnData object")


def _only_variable(dataset: Any, name: str | None) -> Any:
    """The array of an xarray Dataset that has two dimensions, or the one that `layer` names."""
    tables = [str(each) for each in dataset.data_vars if dataset[each].ndim == 2]
    if name is not None and name not in tables:
        remedy = suggest(name, tables, "its tables")
        raise DataError(f"The Dataset has no two-dimensional variable {name!r}; {remedy}")
    if name is None and len(tables) != 1:
        if not tables:
            raise DataError("The Dataset has no two-dimensional variable, so it holds no table.")
        ways = choices("layer", tables)
        raise DataError(f"The Dataset has {len(tables)} two-dimensional variables; pass {ways}.")
    return dataset[name or tables[0]]


def _data_array(obj: Any) -> Raw:
    if len(obj.dims) != 2:
        raise DataError(f"A table has two dimensions, but the DataArray has {tuple(obj.dims)}.")
    rows, columns = (np.asarray(obj.coords[dim]) if dim in obj.coords else None for dim in obj.dims)
    return Raw(np.asarray(obj.values), rows, columns, "The DataArray")


def _graph(graph: Any, weight: str | None, rows: Any, columns: Any) -> Raw:
    tops, bottoms = _sides(graph, rows, columns)
    row_of = {node: position for position, node in enumerate(tops)}
    column_of = {node: position for position, node in enumerate(bottoms)}
    entries: list[tuple[int, int, float]] = []
    for node, neighbours in graph.adjacency():
        for other, edge in neighbours.items():
            if node in row_of and other in column_of:
                entries.append((row_of[node], column_of[other], _weight(graph, edge, weight)))
    where = np.array([entry[:2] for entry in entries], dtype=np.intp).reshape(-1, 2).T
    weights = np.array([entry[2] for entry in entries], dtype=np.float64)
    shape = (len(tops), len(bottoms))
    matrix: Any = sp.coo_array((weights, (where[0], where[1])), shape=shape)
    return Raw(matrix, tidy_labels(tops, "row"), tidy_labels(bottoms, "column"), "The graph")


def _sides(graph: Any, rows: Any, columns: Any) -> tuple[list[Any], list[Any]]:
    nodes = list(graph.nodes)
    for node in [*(rows if rows is not None else []), *(columns if columns is not None else [])]:
        if node not in graph.nodes:
            raise DataError(f"The graph has no node {node!r}; {suggest(node, nodes, 'its nodes')}")
    parts = [graph.nodes[node].get("bipartite") for node in nodes]
    two_sided = len(nodes) > 0 and all(part in (0, 1) for part in parts)
    tops = [node for node, part in zip(nodes, parts, strict=True) if not two_sided or part == 0]
    bottoms = [node for node, part in zip(nodes, parts, strict=True) if not two_sided or part == 1]
    return list(rows) if rows is not None else tops, list(
        columns
    ) if columns is not None else bottoms


def _weight(graph: Any, edge: Any, weight: str | None) -> float:
    parallel = list(edge.values()) if graph.is_multigraph() else [edge]
    if weight is None:
        return 1.0
    try:
        return float(sum(attributes[weight] for attributes in parallel))
    except KeyError:
        raise DataError(f"An edge of the graph has no attribute {weight!r} for value=.") from None
