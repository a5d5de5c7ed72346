"""The formats for French."""
