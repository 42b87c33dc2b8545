"""A fit to one self-contained interactive page."""
