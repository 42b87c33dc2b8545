"""A page in the browser for people who do not program: a table in, its audit out."""

from falsezero.app.run import serve

__all__ = ["serve"]
