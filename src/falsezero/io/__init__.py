"""Saving fits and getting them back."""

from falsezero.io.models import load, save

__all__ = ["load", "save"]
