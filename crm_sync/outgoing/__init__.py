"""Messages to other systems: Standard Webhooks, from an outbox that a worker empties."""
