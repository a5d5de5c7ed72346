"""What the platform holds, and what happens to it. No HTTP but its callbacks."""
