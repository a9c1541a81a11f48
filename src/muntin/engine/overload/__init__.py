"""When there is too much: how long micro-batches take, what fits, and when rows are shed."""
