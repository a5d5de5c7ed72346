"""The webhook as the platform holds it, its history, tests of it. No serving of callbacks."""
