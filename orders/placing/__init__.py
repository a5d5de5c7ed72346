"""Placing, settling and changing orders: everything that is sent. It reads no other orders."""
