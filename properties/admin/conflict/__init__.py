"""The list of conflicts, and the page that decides them."""
