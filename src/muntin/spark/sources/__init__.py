"""Where rows come from, a file for each kind: files, lines, Kafka, PostgreSQL, Delta."""
