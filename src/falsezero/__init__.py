"""falsezero: which zeros in your table are real?

Multiple-cause factor models for tables of zeros and ones, and counts: they separate noise from
content, fill the gaps, explain every cell, and say how many causes the data supports.

>>> import falsezero as fz
>>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
>>> model = fz.AspectBernoulli(n_components=2, random_state=0).fit(table)
"""

from falsezero._lazy import attach

__version__ = "0.1.0"

# The public names are listed in __init__.pyi.
__getattr__, __dir__, __all__ = attach(__name__)
__all__ += ["__version__"]
