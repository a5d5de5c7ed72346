"""Who may log in, and what they may see."""
