"""What is given up when there is too much: how long micro-batches take, budgets, and decisions."""
