"""The small files behind what was delivered. No state."""
