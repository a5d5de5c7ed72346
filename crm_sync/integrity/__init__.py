"""What must hold for every row, and the audit that reads it. Nothing that changes a row."""
