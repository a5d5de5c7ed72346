"""The pull: reads the platform's properties and merges them into rows. It sends nothing."""
