"""Calls to the platform: HTTP, what it answers, what can go wrong. No model and no queue."""
