"""What the platform says of orders becomes rows. Nothing is sent."""
