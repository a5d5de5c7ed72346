"""The users of the platform, whom an order may name."""
