"""A fit as one self-contained interactive page."""

from falsezero.explorer.page import explore, explorer_html

__all__ = ["explore", "explorer_html"]
