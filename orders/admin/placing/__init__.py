"""The screen on which an order is chosen, reviewed and placed, and how each placement went."""
