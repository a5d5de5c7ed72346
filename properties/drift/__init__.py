"""Both sides are compared, and what differs is made due. Nothing is sent."""
