"""The shared parts of the HTTP API; each app has its own addresses."""
