"""Pictures of results; the only importer of matplotlib."""
