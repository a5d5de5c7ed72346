"""The whole installation under load, as processes: python -m tests.scale (make scale)."""
