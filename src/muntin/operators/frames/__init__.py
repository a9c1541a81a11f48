"""Frames: windows that follow the data, found in the rows of each key [Frames]."""
