"""Aggregates: what users write, what panes keep, and how results are computed from that."""
