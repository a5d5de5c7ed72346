"""What an app gives to the registry, as plain values: event handlers, invariants, tiles."""
