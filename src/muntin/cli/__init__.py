"""The command line. A command imports Spark only when it needs it, so that help comes at once."""
