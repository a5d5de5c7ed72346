"""SwissRETS, JSON and XML: what is read and written. No database."""
