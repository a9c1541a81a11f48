"""What queries cost and share, what a new one would add, and what they need of a stream."""
