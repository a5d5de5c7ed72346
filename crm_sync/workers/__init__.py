"""Who works on what is due, and how much at one time. Nothing that says what the work is."""
