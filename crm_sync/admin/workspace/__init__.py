"""A workspace: its settings, its credentials, its webhook and the gaps."""
