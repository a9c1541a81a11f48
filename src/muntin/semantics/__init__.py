"""What windows ARE: frozen specifications and the reference evaluators. Standard library only."""
