"""The state of the platform and its changes. No HTTP except the callbacks."""
