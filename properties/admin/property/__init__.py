"""The list of the properties, and the page of one: its form, and what is in step."""
