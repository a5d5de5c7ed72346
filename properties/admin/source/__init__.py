"""Where feeds are fetched: the list, the form and how each source does."""
