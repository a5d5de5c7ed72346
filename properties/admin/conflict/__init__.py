"""Fields that both sides changed: their list, and the one page on which they are decided."""
