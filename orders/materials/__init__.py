"""Announced materials, the lists of their files, and the downloads of the files."""
