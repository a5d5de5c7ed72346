"""The default formats of dates and times on our pages."""
