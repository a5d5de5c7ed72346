"""The appointments of the assignments, for the calendar of the admin and for calendar programs."""
