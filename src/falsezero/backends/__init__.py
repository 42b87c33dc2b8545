"""Where the work on row blocks is carried out: in process, on threads, or on a Dask cluster."""

from falsezero.backends.local import in_runs, map_blocks, one_blas_thread, shared_workers, workers

__all__ = ["in_runs", "map_blocks", "one_blas_thread", "shared_workers", "workers"]
