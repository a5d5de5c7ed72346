"""When an order is read again, and how many in a minute. Nothing that is read."""
