"""The screens of the sources: the list, the form and the state of each source."""
