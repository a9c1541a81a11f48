"""Asking: what a query answers now, however its answers are made."""
