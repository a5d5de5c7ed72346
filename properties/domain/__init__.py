"""The rules of a property: edit, undo, conflicts, history and differences."""
