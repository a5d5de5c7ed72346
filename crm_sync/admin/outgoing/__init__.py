"""Other systems: their subscriptions, and the messages to them."""
