"""The orders in the HTTP API."""
