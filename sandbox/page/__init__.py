"""The page for people. It does not change the state."""
