"""Section 8 of [Window-ids]: execution time, and latency for accuracy."""
