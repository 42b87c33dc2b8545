"""Noisy-or component analysis: `noisy_or.py` is the face, `steps.py` its variational EM."""
