"""Delivered files go to other systems: which files, under which names, and how they get there."""
