"""Messages to other systems by Standard Webhooks. A worker sends them from an outbox."""
