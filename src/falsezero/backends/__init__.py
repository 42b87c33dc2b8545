"""Where the work on row blocks is carried out: in process, on threads, or on a Dask cluster."""

from falsezero.backends.local import (
    SHARDS,
    in_runs,
    map_blocks,
    map_shards,
    one_blas_thread,
    shared_workers,
    workers,
)

__all__ = [
    "SHARDS",
    "in_runs",
    "map_blocks",
    "map_shards",
    "one_blas_thread",
    "shared_workers",
    "workers",
]
