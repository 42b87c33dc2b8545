"""Write a fit and its table as one HTML file that needs neither a network nor a server."""

from __future__ import annotations

import html
import re
import string
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.analysis.ordering import by_strongest
from falsezero.data.groups import row_groups
from falsezero.data.output import check_target, write_text
from falsezero.data.validate import labels_of
from falsezero.explorer.cells import code_cells
from falsezero.explorer.links import Factors, factors_of
from falsezero.explorer.packing import Bundle, Precision, dequantise, pack, quantise
from falsezero.explorer.policy import content_security_policy
from falsezero.explorer.surprises import encode_corrections, surprising_cells
from falsezero.plot._images import check_image_shape
from falsezero.plot._kinds import keep_of, kinds_of

__all__ = ["InlinePage", "explore", "explorer_html"]

_MOST_CELLS = 20_000_000
_MOST_BYTES = 400_000
_SCRIPTS = ("unpack.js", "fit.js", "picture.js", "layout.js", "find.js", "explorer.js")
_PRECISIONS = (
    Precision(65535, 65535),
    Precision(1023, 255),
    Precision(1023, 255, floor=1e-5),
    Precision(511, 255, floor=1e-5),
    Precision(319, 255, floor=2e-4, root=2),
)
"""The finest precision with a page below `_MOST_BYTES` is used, or else the last."""


class InlinePage:
    """A page that a notebook shows in a frame of its own; `html` is its text."""

    def __init__(self, html: str, height: int = 900):
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
            'style="border: 0" sandbox="allow-scripts allow-downloads"></iframe>'
        )

    def __repr__(self) -> str:
        return f"InlinePage of {len(self.html):,} characters, for display in a notebook"


def explore(
    model: Any,
    table: Any,
    path: Any = None,
    *,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
    groups: Any = None,
) -> Path | InlinePage:
    """Write an interactive page on which components can be turned down and the table watched.

    The page shows a slider P(u|k) for each component (0 for phantoms to begin with), the reordered
    table, and the surprising zeros and ones with their causes. It holds the factors rather than the
    reconstruction, computes in the browser, and opens offline from disk. Without a `path`, a
    notebook shows it inline.

    Parameters
    ----------
    model : fitted model
    table : Table, array, sparse array or data frame
        The training table, or new rows with the same columns; at most 20 million cells.
    path : path of the file to write, optional
    title : str, optional
    image_shape : (height, width), optional
        For tables whose columns are pixels: show components as images.
    groups : sequence, dict, Series or path, optional
        A group for each row, such as its age, party or cell type: one value per row, or values by
        row label. Rows of a group are shown together, and lists can be filtered by group.

    Returns
    -------
    Path of the file written, or the page for a notebook to show

    Examples
    --------
    >>> import tempfile, falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(50, 10, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore(model, table, f"{folder}/explore.html").name
    'explore.html'
    """
    target = None if path is None else check_target(path)
    page = explorer_html(model, table, title=title, image_shape=image_shape, groups=groups)
    if target is None:
        return InlinePage(page)
    write_text(target, page)
    return target


def explorer_html(
    model: Any,
    table: Any,
    *,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
    groups: Any = None,
) -> str:
    """The page of `explore` as text, for a report or an ``<iframe srcdoc>``."""
    table_name = getattr(table, "name", None)
    title = title or f"Which zeros are real?{f' {table_name}' if table_name else ''}"
    n_cells = table.shape[0] * table.shape[1]
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"The explorer shows at most {_MOST_CELLS:,} cells, but the table has {n_cells:,}; "
            "pass some of its rows, such as table.select(rows=slice(0, 1000))."
        )
    check_image_shape(image_shape, table.shape[1])
    contents = _contents(model, table, title, image_shape, groups)
    for precision in _PRECISIONS:
        page = _fill(title, pack(_bundle(*contents, precision)))
        if len(page.encode("utf-8", "replace")) < _MOST_BYTES:
            break
    return page


def _fill(title: str, payload: str) -> str:
    template, unpack = string.Template(_file("template.html")), _script("unpack.js")
    own = template.substitute(unpack=unpack, title="", payload="", policy="")
    return template.substitute(
        unpack=unpack,
        title=html.escape(title),
        payload=payload,
        policy=content_security_policy([own]),
    )


def _script(*names: str) -> str:
    """Several modules as one script, without imports, comments and indentation."""
    text = "\n".join(_file(name) for name in names)
    text = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^ *(//.*\n)?", "", text, flags=re.MULTILINE)


def _file(name: str) -> str:
    return resources.files("falsezero.explorer").joinpath(name).read_text("utf-8")


def _contents(
    model: Any, table: Any, title: str, image_shape: tuple[int, int] | None, by: Any
) -> tuple[Factors, np.ndarray, np.ndarray, Bundle]:
    """Factors, cell codes, surprising cells, and whatever else does not depend on precision."""
    labels = labels_of(model, table)
    parts = list(model.weights_by_block(table))
    codes = np.concatenate([block.codes for block, _ in parts])
    factors = factors_of(model, np.concatenate([weights for _, weights in parts]))
    kinds = kinds_of(model)
    keep = keep_of(kinds)
    surprising = surprising_cells(model, parts, keep)
    rows, columns, *strongest = by_strongest(factors.weights, factors.components, keep)
    known = None if by is None else row_groups(by, labels[0])
    if known is not None:
        # Rows without a group come last.
        order = np.argsort(known.codes[rows] % (len(known.names) + 1), kind="stable")
        rows, strongest[0] = rows[order], strongest[0][order]
    common = Bundle(
        {
            "title": title,
            "shape": [int(side) for side in codes.shape],
            "link": factors.link,
            "kinds": kinds.tolist(),
            "keep": keep.tolist(),
            "row_group": strongest[0].tolist(),
            "column_group": strongest[1].tolist(),
            "groups": None if known is None else known.names,
            "group_sizes": None if known is None else known.sizes.tolist(),
            "importance": _importance(factors).round(4).tolist(),
            "image_shape": None if image_shape is None else [int(side) for side in image_shape],
            "code": _script(*_SCRIPTS),
            "style": _file("explorer.css"),
        }
    )
    _name(common, "rows", labels[0][rows])
    _name(common, "columns", labels[1][columns])
    if image_shape is not None:
        common.arrays["pixel"] = columns.astype(np.uint32)
    ordered = factors._replace(
        weights=factors.weights[rows],
        components=factors.components[:, columns],
        base=factors.base[columns],
    )
    at = np.ix_(rows, columns)
    return ordered, codes[at], surprising[at], common


def _name(bundle: Bundle, what: str, labels: np.ndarray) -> None:
    """Store labels as text, or as numbers where they are numbers, in half the space."""
    if labels.dtype.kind in "iu" and 0 <= labels.min(initial=0) <= labels.max(initial=0) < 2**32:
        bundle.arrays[what] = labels.astype(np.uint32)
    else:
        bundle.header[what] = [str(label) for label in labels]


def _importance(factors: Factors) -> np.ndarray:
    """Share of each component in the total weight."""
    shares: np.ndarray = np.abs(factors.weights).sum(axis=0)
    shares /= max(float(shares.sum()), 1e-300)
    return shares


def _bundle(
    factors: Factors,
    codes: np.ndarray,
    surprising: np.ndarray,
    common: Bundle,
    precision: Precision,
) -> Bundle:
    """Everything the page unpacks."""
    large = np.where(np.abs(factors.weights) < precision.floor, 0.0, factors.weights)
    weights = quantise(large.T, precision.weights, power=precision.root)
    components = quantise(factors.components, precision.components)
    cells, how = code_cells(codes, weights, components)
    how |= {f"weight_{name}": value for name, value in weights[1].items()}
    how |= {f"component_{name}": value for name, value in components[1].items()}
    how |= {"base": factors.base.round(6).tolist(), "trace": factors.trace.tolist()}
    keep = np.array(common.header["keep"])
    corrections = encode_corrections(
        codes, surprising, dequantise(*weights), dequantise(*components), factors.trace, keep
    )
    arrays = {"weights": weights[0], "components": components[0], **cells, **corrections}
    return Bundle({**common.header, **how}, {**common.arrays, **arrays})
