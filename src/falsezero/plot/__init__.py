"""Results as pictures: displays in scikit-learn's manner, one small file per picture."""

from falsezero._lazy import attach

# The displays are listed in __init__.pyi. matplotlib is imported with the first of them.
__getattr__, __dir__, __all__ = attach(__name__)
