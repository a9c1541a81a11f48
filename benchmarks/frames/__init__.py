"""Frames: every kind, their kernels, their data reduction, and how they are filled."""
