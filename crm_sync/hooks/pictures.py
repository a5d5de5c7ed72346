"""Small pictures that an app has of the properties of another app."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PropertyPictures:
    """Where the pictures in a list of properties come from.

    Attributes:
        permission: who has not this permission does not see them (S17).
        find: returns addresses of our own by the primary keys of properties; a constant number of
            queries, whatever their number.
    """

    permission: str
    find: Callable[[Collection[int]], Mapping[int, str]]
