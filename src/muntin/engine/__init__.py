"""Continuous queries: what a session knows, what runs, and what happens when a result comes."""
