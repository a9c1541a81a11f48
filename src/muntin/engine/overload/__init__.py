"""What is given up when there is too much: budgets, and who decides them."""
