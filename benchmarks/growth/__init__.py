"""Benchmarks of how time and memory grow: `python -m benchmarks --growth`."""
