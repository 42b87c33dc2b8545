"""Side-by-side timings against other libraries: `python -m benchmarks`."""
