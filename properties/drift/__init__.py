"""Drift: compares both sides and makes rows that differ due. It sends nothing."""
