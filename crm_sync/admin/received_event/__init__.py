"""Received events: their list, the page of one, retry and replay."""
