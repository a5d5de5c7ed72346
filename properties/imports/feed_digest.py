"""Digests that detect that a full feed, or a record of it, is the same as the last time.

A feed is the same if its bytes, the way to read it and `VERSION` are the same. Such a feed changes
nothing (I1), whatever people have edited since. It is recognised before it is read.

Increment VERSION with each change to the way that a record is read, mapped, merged, checked or
worded. The next feed is then compared as a whole. `tests/properties/feeds/test_version.py` has the
results for a fixed set of records, and fails if they change without a new version.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from django.db.models import QuerySet

from crm_sync.models import Workspace
from crm_sync.sentence import sentence
from properties.feeds import Line, NotAFeed, full_feed_format
from properties.imports.profiles import profile_of
from properties.models import LastFeed, Sender
from properties.ownership import Ownership, lockable

VERSION = 5


def digest(line: Line, rules: str = "") -> str:
    """Return the SHA-256 of the content of a record, without its place in the file.

    Args:
        rules: the rules by which values of the record are set aside, see `rules_of`.

    An import detects changes by it: SwissRETS itself warns against relying on `modified`.
    """
    return hashlib.sha256(b"%d %b%b" % (VERSION, line.body, rules.encode())).hexdigest()


def rules_of(ownership: Ownership) -> str:
    """Return the rules by which values of a feed are set aside; "" without any.

    So a record is compared again once a rule has changed, and what was set aside is not lost.
    """
    if not lockable(ownership.rules):
        return ""
    return " ".join(f"{key}={owner}" for key, owner in sorted(ownership.rules.items()))


@dataclass(frozen=True)
class Feed:
    """The identity of one full feed, which is known before its records are read.

    Attributes:
        fed_by: the key of its sender, or its format.
        digest: the digest of its bytes; "" if the file was replaced while it was read.
        read_as: the digest of the way to read it, see `read_as`.
    """

    fed_by: str
    digest: str
    read_as: str

    @classmethod
    def of(cls, path: Path, sender: Sender | None) -> Self | None:
        """Return the feed in a file; None for a table, whose cells are edits each time.

        Raises:
            NotAFeed: the file is in no format of ours or cannot be read.
        """
        if (known := full_feed_format(path)) is None:
            return None
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            text = sentence(
                "%(name)s: cannot be read: %(why)s", name=path.name, why=str(error.strerror)
            )
            raise NotAFeed(text) from error
        return cls(sender.feed_key if sender else known, digest, read_as(sender))


def unchanged_since(workspace: Workspace, path: Path, sender: Sender | None) -> datetime | None:
    """Return when this feed was imported, if it is the last feed of its sender; else None.

    A feed with refused records does not count.

    Raises:
        NotAFeed: the file is in no format of ours or cannot be read.
    """
    feed = Feed.of(path, sender)
    if feed is None:
        return None
    rows = _rows(workspace, feed).filter(digest=feed.digest, read_as=feed.read_as)
    return rows.values_list("imported_at", flat=True).first()


def forget(workspace: Workspace, feed: Feed) -> None:
    """Delete the last feed of the sender, because an import has begun."""
    _rows(workspace, feed).delete()


def remember(workspace: Workspace, feed: Feed, *, now: datetime) -> None:
    """Store a feed as the last one of its sender, after all its records were accepted."""
    columns = {"digest": feed.digest, "read_as": feed.read_as, "imported_at": now}
    LastFeed.objects.bulk_create(
        [LastFeed(workspace=workspace, fed_by=feed.fed_by, **columns)],
        update_conflicts=True,
        unique_fields=("workspace", "fed_by"),
        update_fields=list(columns),
    )


def read_as(sender: Sender | None) -> str:
    """Return a digest of the sender's profile and VERSION."""
    return hashlib.sha256(f"{profile_of(sender).to_json()} {VERSION}".encode()).hexdigest()


def _rows(workspace: Workspace, feed: Feed) -> QuerySet[LastFeed]:
    return LastFeed.objects.filter(workspace=workspace, fed_by=feed.fed_by)
