"""What people do with a property, and what becomes of it."""
