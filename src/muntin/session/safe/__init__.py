"""Safe mode: texts of people who are not trusted read only what they are given."""
