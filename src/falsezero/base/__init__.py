"""The estimator contract; start with `estimator.py`."""
