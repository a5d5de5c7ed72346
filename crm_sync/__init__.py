"""The connection to a platform: calls, queues, callbacks, admin parts. No property, no order."""
