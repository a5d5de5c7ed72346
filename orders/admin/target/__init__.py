"""The screens of the targets: the list, the form and the state of each, and the files there."""
