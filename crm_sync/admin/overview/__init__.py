"""The first page of the admin."""
