"""The estimator contract, written once: `estimator.py` is the face."""
