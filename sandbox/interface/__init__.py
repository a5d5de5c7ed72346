"""What the interface document says, as tables; pure. No state."""
