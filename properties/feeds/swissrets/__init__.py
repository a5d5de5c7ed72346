"""Readers and a writer for SwissRETS, JSON and XML. They need no database."""
