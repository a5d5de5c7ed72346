"""The files beside a feed, as its writers name them."""

from typing import NamedTuple

PHOTO = "PHOTO"


class Attachment(NamedTuple):
    """A file in the same ZIP as the feed.

    Attributes:
        path: its name in the ZIP, with nothing that an address would have to escape.
        kind: PHOTO, PLAN, FILM or DOCUMENT.
        title: what people call it.
        content_type: such as "image/jpeg".
    """

    path: str
    kind: str
    title: str
    content_type: str
