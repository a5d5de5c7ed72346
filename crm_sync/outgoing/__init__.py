"""What other systems are told: Standard Webhooks, from an outbox that a worker empties."""
