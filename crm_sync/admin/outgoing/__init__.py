"""Screens for other systems: their subscriptions, and the messages to them."""
