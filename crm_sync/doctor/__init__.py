"""What is there, what is wrong, what to do: all of it by reading (`manage.py doctor`)."""
