"""Orders of the platform: mirrored, placed, changed, and what was delivered for them."""
