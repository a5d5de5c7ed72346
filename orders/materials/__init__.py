"""What was announced as ready, and the list of its files. Not the files."""
