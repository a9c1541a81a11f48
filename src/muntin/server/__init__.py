"""The engine as a service: its HTTP API, its events, and the page."""
