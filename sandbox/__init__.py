"""A stateful stand-in of the order and delivery platform, written from its interface document.

`§` in a comment points into that document, `A` and a number into the table of what we take where
the document says "not shown". Nothing here knows the product that is tested against it.
"""
