"""Pure: the interface document as tables, without state."""
