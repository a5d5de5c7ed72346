"""The formats for Italian."""
