"""The language: SQL text with stream clauses, read into statements. One file per clause."""
