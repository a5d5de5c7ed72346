"""The state of the platform and its changes. No HTTP except for the callbacks."""
