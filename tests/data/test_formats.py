"""Formats are found by their registry: one file adds one."""

import sys

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli import main
from falsezero.data import formats
from falsezero.data.errors import DataError
from falsezero.data.read import read

GRID = '''
"""A drawing: # is a one, a dot a zero."""

from falsezero.data.checks import Raw
from falsezero.data.formats import Format, register_format


def read_grid(path, options):
    lines = path.read_text(options.encoding).split()
    return Raw([[float(mark == "#") for mark in line] for line in lines], source=str(path))


register_format(Format("grid", (".grid",), reader=read_grid, options=frozenset({"encoding"})))
'''


@pytest.fixture
def drawing(tmp_path, monkeypatch):
    """A file in a format that a module of one file makes known."""
    (tmp_path / "grid_format.py").write_text(GRID)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(formats, "_REGISTERED", [])
    import grid_format  # noqa: F401

    yield tmp_path / "finds.grid"
    sys.modules.pop("grid_format")


def test_a_format_in_one_file_is_read(drawing):
    drawing.write_text("#.#\n..#\n")
    assert read(drawing) == fz.Table([[1, 0, 1], [0, 0, 1]], name="finds")
    with pytest.raises(
        DataError, match=r"finds\.grid is a grid file, but skip= belongs to text, zip"
    ):
        read(drawing, skip=1)


def test_a_format_in_one_file_is_read_and_listed_by_the_shell(drawing, capsys):
    drawing.write_text("##..\n" * 6 + "..##\n" * 6)
    model = str(drawing.with_suffix(".fz"))
    assert main(["fit", str(drawing), "-o", model, "--model", "bernoulli-mixture", "-k", "2"]) == 0
    assert fz.load(model).n_features_in_ == 4
    capsys.readouterr()
    main(["fit", "--help"])
    assert "grid (.grid)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("option", "takers"),
    [
        ({"layer": "raw"}, "AnnData"),
        ({"delimiter": ";"}, "text"),
        ({"marks": {"P": 1}}, "text"),
        ({"encoding": "latin-1"}, "text"),
        ({"header": False}, "text"),
        ({"index": "site"}, "text, .*Parquet"),
        ({"duplicates": "max"}, "text, .*Parquet"),
    ],
)
def test_an_option_that_a_format_has_no_use_for_is_refused(tmp_path, option, takers):
    np.save(tmp_path / "t.npy", np.eye(2))
    (name,) = option
    with pytest.raises(
        DataError, match=rf"is a matrix, but {name}= belongs to .*{takers}.* files\."
    ):
        read(tmp_path / "t.npy", **option)


def test_a_layer_of_a_text_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,0\n")
    with pytest.raises(DataError, match="is a text file, but layer= belongs to zip, AnnData"):
        read(tmp_path / "t.csv", layer="raw")


def test_every_extension_is_documented_and_has_one_reader():
    own = formats._own_formats()
    extensions = [extension for each in own for extension in each.extensions]
    assert len(extensions) == len(set(extensions))
    assert all(f"`{extension}`" in read.__doc__ for extension in extensions)
