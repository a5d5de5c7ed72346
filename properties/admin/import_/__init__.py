"""Feeds that people upload: the form, what an import would do, and what it did."""
