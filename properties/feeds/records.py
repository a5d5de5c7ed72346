"""The items that every reader of feeds returns, and the errors for a file that is no feed.

NotAFeed         import nothing: the file is not in a format that we read
 └─ Truncated    import nothing: the file breaks off after some records
"""

from dataclasses import dataclass
from typing import Any, Self

from crm_sync.sentence import Sentence, sentence, sentence_of
from properties import merge
from properties.feeds.overlay import Part, overlay
from properties.merge import Document, Leaves


@dataclass(frozen=True, slots=True)
class Record:
    """One property as it is in a feed.

    Attributes:
        document: the values, with the platform's names and the catalog's types.
        leftover: the values without a field, by their path in the feed.
        position: where it is in the file, as people say it.
        parts: the cells of a table, which holds only a part of a property: see `changes`.
        warnings: which invalid values were set aside, and why; and which contacts are invalid
            (`contacts`).
    """

    reference: str
    document: dict[str, Any]
    leftover: dict[str, Any]
    position: Sentence
    parts: tuple[Part, ...] = ()
    warnings: tuple[Sentence, ...] = ()

    def changes(self, known: Document) -> Leaves:
        """Return the leaves that the record changes in a property with this document.

        The cells of a table are merged into the known values. None clears a leaf.
        """
        return overlay(known, self.parts) if self.parts else merge.leaves(self.document)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One record that cannot be imported, with every reason that a person must correct."""

    position: Sentence
    reference: str | None
    reasons: list[Sentence]


@dataclass(frozen=True, slots=True)
class FileWarning:
    """A warning about the file as a whole. It is no record and refuses none."""

    text: Sentence


@dataclass(frozen=True, slots=True)
class Heading:
    """The header of a table with foreign names. It is no record and refuses none.

    Attributes:
        sheet: the sheet of a workbook; empty for any other file.
        row: the number of the header in the sheet or file, from 1.
        columns: for each column its foreign name, the column of ours that it is read as, and the
            one that it may mean. The last two may be empty.
    """

    sheet: str
    row: int
    columns: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Partial:
    """The file is a part of the stock: what it lacks is not missing. It is no record."""


@dataclass(frozen=True, slots=True)
class Gone:
    """An object that the file takes away. It counts as missing, and is no record."""

    reference: str


Item = Record | Refusal | FileWarning | Heading | Partial | Gone


def duplicate(name: str, reference: str) -> Sentence:
    """Return why a record is refused whose reference an earlier record of the file has."""
    return sentence(
        '%(name)s "%(reference)s" is a duplicate: an earlier record has it',
        name=name,
        reference=reference,
    )


def breaks_off(position: Sentence) -> Sentence:
    """Return what is said of a file that ends within a record."""
    return sentence("breaks off in %(position)s", position=position)


def in_line(number: int) -> Sentence:
    """Return the position of what begins in a line."""
    return sentence("line %(number)s", number=str(number))  # a position has no thousands


def in_row(number: int) -> Sentence:
    """Return the position of a row of a sheet."""
    return sentence("row %(number)s", number=str(number))


def as_record(number: int) -> Sentence:
    """Return the position of a record in a file whose lines mean nothing."""
    return sentence("record %(number)s", number=str(number))


NO_FORMAT = sentence("neither SwissRETS (XML, JSON) nor OpenImmo nor IDX nor a table of ours")


class NotAFeed(Exception):
    """The file is no feed: import nothing. The message names the file and the reason."""

    @classmethod
    def of(cls, file_name: str, why: str) -> Self:
        """Return the error of a file with this name."""
        return cls(sentence_of(file_name, why))


class Truncated(NotAFeed):
    """The file breaks off after some records: import nothing, or it would pass as a full feed."""
