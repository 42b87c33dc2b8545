"""Noisy-or component analysis; start with `noisy_or.py`. `steps.py` is its variational EM."""
