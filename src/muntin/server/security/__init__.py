"""Who may ask what: hosts, origins, tokens, roles, limits, and the audit log."""
