"""Planning queries that are like others."""
