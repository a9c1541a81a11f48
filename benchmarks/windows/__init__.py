"""Windows in batches: overlap, panes, a window at every row, correlated aggregates."""
