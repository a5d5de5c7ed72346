"""Digests that show that a full feed, or a record of it, is the same as the last time.

A feed is the same if its bytes are, if it is read in the same way, and under the same `VERSION` of
what becomes of a record. Such a feed changes nothing (I1), whatever people have edited since. It is
recognised before it is read.

Count VERSION up with each change to how a record is read, mapped, merged, checked or worded: then
the next feed is compared as a whole. `tests/properties/feeds/test_version.py` holds what became of
a fixed set of records, and fails if that changes without a new version.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from django.db.models import QuerySet

from crm_sync.models import Workspace
from properties.feeds import Line, NotAFeed, full_feed_format
from properties.imports.profiles import profile_of
from properties.models import LastFeed, Sender

VERSION = 3


def digest(line: Line) -> str:
    """Return the SHA-256 of all that a record leads to, whatever its place in the file.

    The change detection of an import: SwissRETS itself warns not to trust `modified`.
    """
    return hashlib.sha256(b"%d %b" % (VERSION, line.body)).hexdigest()


@dataclass(frozen=True)
class Feed:
    """One full feed, as far as it can be known without reading it.

    Attributes:
        fed_by: the key of its sender, or its format.
        digest: of its bytes; "" where the file was replaced while it was read.
        read_as: the digest of how it is read.
    """

    fed_by: str
    digest: str
    read_as: str

    @classmethod
    def of(cls, path: Path, sender: Sender | None) -> Self | None:
        """Return the feed in a file; None for a table, whose cells are edits each time.

        Raises:
            NotAFeed: it is in no format of ours.
        """
        if (known := full_feed_format(path)) is None:
            return None
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise NotAFeed(f"{path.name}: cannot be read: {error.strerror}") from error
        return cls(sender.feed_key if sender else known, digest, read_as(sender))


def unchanged_since(workspace: Workspace, path: Path, sender: Sender | None) -> datetime | None:
    """Return when the same feed was imported whole as the last one of its sender, else None.

    Raises:
        NotAFeed: it is in no format of ours.
    """
    feed = Feed.of(path, sender)
    if feed is None:
        return None
    rows = _rows(workspace, feed).filter(digest=feed.digest, read_as=feed.read_as)
    return rows.values_list("imported_at", flat=True).first()


def forget(workspace: Workspace, feed: Feed) -> None:
    """Note that an import has begun, so that no whole feed is the last one any more."""
    _rows(workspace, feed).delete()


def remember(workspace: Workspace, feed: Feed, *, now: datetime) -> None:
    """Note that all records of a feed were taken."""
    columns = {"digest": feed.digest, "read_as": feed.read_as, "imported_at": now}
    LastFeed.objects.bulk_create(
        [LastFeed(workspace=workspace, fed_by=feed.fed_by, **columns)],
        update_conflicts=True,
        unique_fields=("workspace", "fed_by"),
        update_fields=list(columns),
    )


def read_as(sender: Sender | None) -> str:
    """Return a digest of the profile of a sender and the version of what becomes of a record."""
    return hashlib.sha256(f"{profile_of(sender).to_json()} {VERSION}".encode()).hexdigest()


def _rows(workspace: Workspace, feed: Feed) -> QuerySet[LastFeed]:
    return LastFeed.objects.filter(workspace=workspace, fed_by=feed.fed_by)
