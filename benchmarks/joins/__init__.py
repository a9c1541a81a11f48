"""Joins: a row and its partner in another stream."""
