"""How due rows get workers, when, and how many at a time. It does not know the work itself."""
