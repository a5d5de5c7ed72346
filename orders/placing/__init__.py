"""Orders are placed, settled and changed: what is sent. No reading of others."""
