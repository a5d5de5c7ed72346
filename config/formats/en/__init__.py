"""The formats for English."""
