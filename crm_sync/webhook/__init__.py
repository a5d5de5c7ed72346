"""The webhook on the platform, its history, and tests of it. Callbacks are served elsewhere."""
