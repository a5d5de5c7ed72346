"""A stateful stand-in of the order and delivery platform, written from its interface document.

`§` and `A` with a number lead to docs/interface.md: what that document says, and what we take where
it says nothing. Nothing here knows the product that is tested against it.
"""
