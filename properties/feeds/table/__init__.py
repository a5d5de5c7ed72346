"""Tables in our own columns, CSV and Excel: what is read and written. No database."""
