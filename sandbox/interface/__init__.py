"""The interface document as tables; pure, without state."""
