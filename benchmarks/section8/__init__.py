"""Section 8 of the window-id paper (window-id.txt): execution time, and latency for accuracy."""
