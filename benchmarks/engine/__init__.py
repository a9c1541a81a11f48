"""Benchmarks of the engine: many continuous queries over one stream."""
