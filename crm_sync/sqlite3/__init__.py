"""Django's SQLite backend with a line for the writers of one process. Django loads `base`."""
