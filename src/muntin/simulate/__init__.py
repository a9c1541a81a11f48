"""Simulated streams for examples, demonstrations and tests. NumPy and Arrow only, no Spark."""
