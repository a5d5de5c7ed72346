"""Who works on what is due, when, and how much at one time. Nothing that says what the work is."""
