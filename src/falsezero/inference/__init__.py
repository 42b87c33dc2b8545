"""The engine: loops, monitors, acceleration, chains, checkpoints."""
