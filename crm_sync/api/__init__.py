"""What every part of the HTTP API shares; each app brings its own addresses."""
