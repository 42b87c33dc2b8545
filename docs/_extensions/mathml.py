r"""Formulas as MathML, which browsers draw by themselves, with a mathematical font: no network.

LaTeX is translated by docutils. A closing `\tag{8}` puts that number (the paper's) at the right.
"""

import html
import re
from importlib.resources import files
from logging import getLogger
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from fontTools import subset
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
_FUNCTION = re.compile(r"\\(log|exp|tanh)\s+(?=[a-zA-Z\\])(?!\\[bB]ig|\\left)")
_TAG = re.compile(r"\\tag\{([^}]*)\}\s*$")

_LETTERS = [(0x20, 0x180), (0x2C6, 0x400), (0x1D400, 0x1D800)]
_SIGNS = [(0x2010, 0x2070), (0x2100, 0x2150), (0x2190, 0x2310), (0x27E6, 0x27F0)]


def _translated(tex, node, as_block):
    try:
        # LaTeX parts a function from a letter that follows; MathML does not.
        return tex2mathml(_FUNCTION.sub(r"\\\1\\, ", tex), as_block=as_block)
    except MathError as problem:
        _LOG.warning("%s in the formula %s", problem, tex, location=node)
        return f"<code>{html.escape(tex)}</code>"


def _inline(translator, node):
    translator.body.append(_translated(node.astext(), node, False))
    raise nodes.SkipNode


def _block(translator, node):
    tex = node.astext().strip()
    tag = _TAG.search(tex)
    number = f'<span class="number">({html.escape(tag[1])})</span>' if tag else ""
    formula = _translated(_TAG.sub("", tex), node, True)
    translator.body.append(
        f'<div class="formula"><div>{formula}</div>{number}</div>\n'
    )
    raise nodes.SkipNode


def _left(translator, node):
    """Nothing is left open."""


def _write_font(app, problem):
    """Put STIX Two Math, cut to the signs that formulas need, beside the style sheet."""
    target = Path(app.outdir) / "_static" / "math.woff"
    if problem or app.builder.format != "html" or target.exists():
        return
    getLogger("fontTools").setLevel("WARNING")
    options = subset.Options(
        flavor="woff", layout_features=["ssty", "flac", "dtls"]
    )
    whole = str(files("ziamath.fonts") / "STIXTwoMath-Regular.ttf")
    font = subset.load_font(whole, options)
    cut = subset.Subsetter(options)
    cut.populate(
        unicodes=[code for block in _LETTERS + _SIGNS for code in range(*block)]
    )
    cut.subset(font)
    subset.save_font(font, str(target), options)


def setup(app):
    """Offer the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, _left), (_block, _left))
    app.connect("build-finished", _write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
