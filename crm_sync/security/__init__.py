"""Who may log in, and which rows they may see."""
