"""The invariants of every row, the audit that checks them, and the work after a restore."""
