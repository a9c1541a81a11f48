"""What the parts of a network of queries cost."""
