"""Aggregates: what users write, what panes keep of them, and how results are made of that."""
