"""The HTTP API of the properties."""
