"""The mirror of the platform's orders. It sends nothing."""
