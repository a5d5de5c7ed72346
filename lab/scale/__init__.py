"""The whole installation under load, as processes: python -m lab.scale (make scale)."""
