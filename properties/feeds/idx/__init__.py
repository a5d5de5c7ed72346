"""IDX 3.01: what is read. No database."""
