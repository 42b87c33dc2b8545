"""Convex Bernoulli factors, p = W F: read `aspect_bernoulli.py` first, then `family.py`."""
