"""What goes wrong on purpose, and what a newer platform says. No state."""
