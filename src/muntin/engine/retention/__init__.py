"""How long rows and answers are kept, and in how many files."""
