"""Django's SQLite with a line for the writers of one process; Django loads `base`."""
