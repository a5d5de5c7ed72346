"""What all calls of the HTTP API share; each app has its own addresses."""
