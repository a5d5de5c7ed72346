"""What the platform says is read and merged into rows. Nothing is sent."""
