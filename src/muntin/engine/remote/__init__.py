"""How an engine and its clients in other processes speak with each other."""
