"""A stateful replacement of the order and delivery platform, written from its interface document.

`§` and `A` with a number refer to docs/interface.md: `§` is that document, and `A` is our reading
where the document says nothing. The sandbox does not know the product that is tested with it.
"""
