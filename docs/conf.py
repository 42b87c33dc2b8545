"""Sphinx settings: MyST pages, docstrings in NumPy's style, formulas as MathML, nothing fetched."""

import re
import sys
from pathlib import Path

import falsezero

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "falsezero"
author = "The falsezero developers"
copyright = "The falsezero developers, BSD-3-Clause"
release = version = falsezero.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "cli_help",
    "paper_items",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False
add_module_names = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False

plot_include_source = False
plot_working_directory = str(Path(__file__).parent / "data")
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 150)]
plot_rcparams = {"figure.dpi": 150, "savefig.bbox": "tight"}

html_theme = "furo"
html_title = "falsezero"
html_static_path = ["_static"]
html_css_files = ["falsezero.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False


def _is_ours(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and Python bring along; their own pages describe it."""
    home = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", ""
    )
    return skip or not (home or "falsezero").startswith("falsezero")


def _without_links_outside(app, docname, source):
    """Files of the repository that are no pages of the site are named, not linked."""
    source[0] = re.sub(
        r"\[([^\]]+)\]\(\.\./(?:benchmarks|src|tests)/[^)]*\)", r"\1", source[0]
    )


def setup(app):
    """Show only members that falsezero itself wrote; keep links inside the site."""
    app.connect("autodoc-skip-member", _is_ours)
    app.connect("source-read", _without_links_outside)
