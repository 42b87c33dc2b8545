"""Binary matrix factorization; start with `binary_matrix_factorization.py`."""
