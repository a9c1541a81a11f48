"""Muntin beside engines that run in one process: Polars and DuckDB."""
