"""People: their news, mails, settings and time zones, and how they are found and removed."""
