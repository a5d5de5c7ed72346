"""What an app shows on the page of a property that another app owns."""

from dataclasses import dataclass, field

from django.forms import Media
from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Section:
    """One tab beside the fields of a property.

    Attributes:
        slug: its part of the address.
        count: how many things it shows.
        permission: who has not this permission does not see it (S17).
        media: the styles and scripts that it needs.
    """

    slug: str
    title: str
    count: int
    content: SafeString
    permission: str
    media: Media = field(default_factory=Media)
