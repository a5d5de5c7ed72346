"""The checks of `manage.py doctor`: they only read."""
