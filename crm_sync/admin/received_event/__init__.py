"""What was received: the list, a row, and what a person does again."""
