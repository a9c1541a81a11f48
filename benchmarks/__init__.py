"""One module per claim about speed or size, in a folder per family; each measures a ratio."""
