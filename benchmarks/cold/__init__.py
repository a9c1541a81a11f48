"""Benchmarks of processes that start from nothing."""
