"""Every object that is no table is answered with one sentence that says why."""

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import xarray as xr

from falsezero.data.errors import DataError
from falsezero.data.read import as_table
from falsezero.data.table import Table

LONG = {"row": "site", "column": "genus"}
LEAVE = (
    "leave a cell that was not observed empty, or pass index={!r} if that column names the rows, "
    "or row= and column= if every line is one pair."
)
ONES = "pass binarize=0 (or a higher threshold) to make values above it ones, or "

OBJECTS = [
    ("finds.csv", {}, "'finds.csv' is not a table; falsezero.read opens files."),
    (
        {"a": 1},
        {},
        "'dict' is not a type of table; give an array, a sparse matrix, a data frame, a list of "
        "sets, AnnData, a graph or an xarray DataArray.",
    ),
    (np.empty((0, 3)), {}, "The table has no rows, so there is nothing to read."),
    (sp.csr_array((3, 0)), {}, "The table has no columns, so there is nothing to read."),
    (pd.DataFrame({"a": []}), {}, "The frame has no rows, so there is nothing to read."),
    (pd.DataFrame(index=["a"]), {}, "The frame has no columns, so there is nothing to read."),
    (
        np.array([[0, 3]]),
        {"columns": ["x", "y"]},
        "The cell in row 0, column 'y' holds 3, but a binary table needs 0 or 1: "
        + ONES
        + "kind='count' to keep counts.",
    ),
    (
        sp.csr_array(np.array([[0, np.inf]])),
        {},
        "The cell in row 0, column 1 is infinite; leave a cell that was not observed empty (NaN).",
    ),
    (
        np.zeros((2, 2, 2)),
        {},
        "A table has two dimensions, but the array has shape (2, 2, 2); "
        "reshape it to (rows, columns).",
    ),
    (np.eye(2), LONG, "row= and column= belong to long data frames, not to a matrix."),
    (
        pd.DataFrame({"a": [1, 0], "b": ["abc", 1]}),
        {},
        "The frame row 0, column 'b' holds 'abc' where a number belongs; " + LEAVE.format("b"),
    ),
    (
        pd.DataFrame(np.eye(2), columns=["a", "a"]),
        {},
        "The frame uses the column name 'a' twice; give every column a name of its own.",
    ),
    (
        pd.DataFrame(np.eye(2), index=["a", "a"]),
        {},
        "The row label 'a' is used twice (rows 0 and 1); give every row a name of its own.",
    ),
    (
        pl.DataFrame({"sites": ["x"], "genus": ["a"]}),
        LONG,
        "The frame has no column 'site'; did you mean 'sites'?",
    ),
    (
        pl.DataFrame({"site": ["x", None], "genus": ["a", "b"]}),
        LONG,
        "The frame row 1 has no label in column 'site'; leave such rows out first.",
    ),
    (
        pl.DataFrame({"site": ["x", "x"], "genus": ["a", "a"]}),
        LONG,
        "The frame row 1 lists the pair ('x', 'a') again (first: The frame row 0); "
        "keep one of them, or pass duplicates='max' to count the pair once or duplicates='sum' to "
        "add them up.",
    ),
    (
        pl.DataFrame({"a": [1]}),
        {"index": "b"},
        "The frame has no column 'b' for index=; its columns: 'a'",
    ),
    (
        xr.DataArray(np.zeros((1, 1, 1)), dims=["a", "b", "c"]),
        {},
        "A table has two dimensions, but the DataArray has ('a', 'b', 'c').",
    ),
    (
        anndata.AnnData(np.eye(2), layers={"counts": np.eye(2)}),
        {"layer": "count"},
        "The AnnData object has no layer 'count'; did you mean 'counts'?",
    ),
    (
        nx.path_graph(3),
        {"rows": [0, 9]},
        "The graph has no node 9; its nodes: '0', '1', '2'",
    ),
    (
        nx.path_graph(3),
        {"value": "weight"},
        "An edge of the graph has no attribute 'weight' for value=.",
    ),
    (nx.Graph(), {}, "The graph has no rows, so there is nothing to read."),
    (
        Table([[4]]),
        {},
        "The cell in row 0, column 0 holds 4, but a binary table needs 0 or 1: "
        + ONES
        + "kind='count' to keep counts.",
    ),
]


@pytest.mark.parametrize(("obj", "options", "sentence"), OBJECTS)
def test_objects(obj, options, sentence):
    with pytest.raises(DataError) as caught:
        as_table(obj, **options)
    assert str(caught.value) == sentence
