"""Running the language: names, queries translated to plans, sessions."""
