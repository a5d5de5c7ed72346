"""The configuration of an installation as a file: written, read, and made so."""
