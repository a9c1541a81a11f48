"""What is done once for every row of a query's results: a web request, or a command."""
