"""What queries answer under a budget."""
