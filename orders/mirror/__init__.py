"""What the platform tells of orders becomes rows. Nothing is sent."""
