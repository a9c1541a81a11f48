"""What frames ARE: kinds of frames, the properties of a framing, and their reference evaluator."""
