"""The reader for IDX 3.01. It needs no database."""
