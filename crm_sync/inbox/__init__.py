"""A callback: let in, stored, applied, played again. No call to the platform."""
