"""Where answers of the engine's queries go: sinks and triggers that read the result log."""
