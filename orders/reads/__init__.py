"""The schedule of the reads of an order, and their limit per minute. Nothing is read here."""
