"""Binary matrix factorization: `binary_matrix_factorization.py` is the face."""
