"""The mirror of the platform's users."""
