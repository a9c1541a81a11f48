"""Many continuous queries over one stream, added, changed, asked and dropped while it runs."""
