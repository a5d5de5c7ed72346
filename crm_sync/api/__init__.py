"""The shared parts of the HTTP API. Each app has its own addresses."""
