"""The page for people. No change of the state."""
