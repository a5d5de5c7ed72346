"""Callbacks are authenticated, stored, applied and replayed. There is no call to the platform."""
