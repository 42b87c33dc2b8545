"""Discrete PCA: start reading at `discrete_pca.py`; each way of fitting it has a file."""
