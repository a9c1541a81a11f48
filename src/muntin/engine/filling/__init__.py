"""Filling new queries from what a stream keeps."""
