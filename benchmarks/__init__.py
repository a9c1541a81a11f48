"""One module per claim about speed or size, each measuring a ratio in one run."""
