"""Formulas as MathML, which every browser draws by itself: no script, no font, no network.

LaTeX is translated by docutils. A closing `\tag{8}` puts that number (the paper's) at the right.
"""

import html
import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

_TAG = re.compile(r"\\tag\{([^}]*)\}\s*$")


def _inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator, node):
    tex = node.astext().strip()
    tag = _TAG.search(tex)
    number = f'<span class="number">({html.escape(tag[1])})</span>' if tag else ""
    formula = tex2mathml(_TAG.sub("", tex), as_block=True)
    translator.body.append(f'<div class="formula"><div>{formula}</div>{number}</div>\n')
    raise nodes.SkipNode


def _left(translator, node):
    """Nothing is left open."""


def setup(app):
    """Offer the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, _left), (_block, _left))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
