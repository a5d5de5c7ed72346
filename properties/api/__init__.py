"""The properties in the HTTP API."""
