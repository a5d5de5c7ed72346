"""Calls to the platform: HTTP, the answers, the errors. No model and no queue."""
