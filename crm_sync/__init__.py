"""The connection to a platform: calls, queues, callbacks, admin. No properties and no orders."""
