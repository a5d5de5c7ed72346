"""What comes out of every reader of feeds, and what a file that is no feed leads to.

NotAFeed         import nothing: the file is not in a format that we read
 └─ Truncated    import nothing: it began well and breaks off, so it lacks records
"""

from dataclasses import dataclass
from typing import Any

from properties import merge
from properties.feeds.overlay import Part, overlay
from properties.merge import Document, Leaves


@dataclass(frozen=True, slots=True)
class Record:
    """One property as it is in a feed.

    `document` has the platform's names and the catalog's types. `leftover` is what has no home in
    it, by the path in the feed.
    `parts` are the cells of a table, which says less than a whole record: see `changes`.
    `warnings` say which values were set aside because they are bad, and why, and which contacts are
    odd (`contacts`).
    """

    reference: str
    document: dict[str, Any]
    leftover: dict[str, Any]
    position: str
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()

    def changes(self, known: Document) -> Leaves:
        """Return what the record changes, leaf by leaf, in a property with this document.

        The cells of a table are laid over what is known; None clears a leaf.
        """
        return overlay(known, self.parts) if self.parts else merge.leaves(self.document)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One record that cannot be taken, with every reason that a person must mend."""

    position: str
    reference: str | None
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class FileWarning:
    """What a person should know of the file as a whole; it is no record, and refuses none."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The header of a table with names that are not ours; it is no record, and refuses none.

    Attributes:
        sheet: of a workbook; empty for any other file.
        row: its number in the sheet or file, from 1.
        columns: of each one its name there, the column of ours that it is read as, and the one
            that it may mean; the last two may be empty.
    """

    sheet: str
    row: int
    columns: tuple[tuple[str, str, str], ...]


Item = Record | Refusal | FileWarning | Heading


class NotAFeed(Exception):
    """The file is no feed of this format at all: import nothing. Names the file and the reason."""


class Truncated(NotAFeed):
    """The file breaks off after some records: import nothing, it would look like a full feed."""
