"""Intended faults, and the answers of a newer platform. No state."""
