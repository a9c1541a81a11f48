"""Streams: seconds per micro-batch, and the state that is kept."""
