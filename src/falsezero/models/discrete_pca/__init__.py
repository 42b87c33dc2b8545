"""Discrete PCA: `discrete_pca.py` is the face; one file for each way of fitting it."""
