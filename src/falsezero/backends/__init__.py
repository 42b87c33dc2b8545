"""Where the work on row blocks is carried out: in process or on threads."""

from falsezero.backends.local import map_blocks, workers

__all__ = ["map_blocks", "workers"]
