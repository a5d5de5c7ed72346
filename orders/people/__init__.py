"""What happened lately, told to those who want to hear of it."""
