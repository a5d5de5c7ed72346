"""The stored reading of a feed: until a command ends, or until the import of an upload ends.

An upload is read once. Its reading is stored beside it, so that each slice continues where the last
one stopped. A worker that does not find it reads the upload again, for example on another machine
or after the death of the first worker. Files that remain are removed then, or with the upload.
"""

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from crm_sync.sentence import Sentence
from properties.feeds import Heading, Spool
from properties.imports.feed_digest import Feed
from properties.imports.full_feed_guard import Comparison

NOTE = "read"  # suffix of the file with the `FeedReading`, written after the whole upload was read


@dataclass(frozen=True)
class FeedReading:
    """The facts about a file that was read to its end.

    Attributes:
        feed: the feed; None for a table, whose cells are edits each time.
        comparison: the comparison with the last feed; None if it was not made yet.
        gone: the references that a part of the stock takes away; None for a full feed.
    """

    feed: Feed | None
    heading: Heading | None = None
    warnings: list[str] = field(default_factory=list)
    comparison: Comparison | None = None
    gone: list[str] | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The form in which it is stored."""
        compared = self.comparison
        return asdict(self) | {
            "warnings": [Sentence(one).stored for one in self.warnings],
            "comparison": compared and compared.document,
        }

    @classmethod
    def of(cls, said: dict[str, Any]) -> Self:
        """Return the reading that was stored in this form."""
        feed, heading, comparison = (said[one] for one in ("feed", "heading", "comparison"))
        if heading is not None:
            heading["columns"] = tuple(tuple(column) for column in heading["columns"])
        return cls(
            Feed(**feed) if feed else None,
            Heading(**heading) if heading else None,
            [Sentence.of(one) for one in said["warnings"]],
            Comparison.of(comparison) if comparison else None,
            said.get("gone"),
        )


class FeedSpool:
    """A spool, and the reading of its feed after that was read to its end.

    Args:
        upload: the file beside which the spool is stored; None if the spool has no name.
        read_as: the way to read the upload, as a text.
    """

    def __init__(self, file: IO[bytes], upload: Path | None = None, read_as: str = "") -> None:
        self.spool = Spool(file)
        self.reading: FeedReading | None = None
        self._file, self._upload, self._read_as = file, upload, read_as

    def keep(self, reading: FeedReading) -> FeedReading:
        """Store the reading of the feed, after every line was added to the spool."""
        self.reading = reading
        if self._upload is not None:
            self._file.flush()
            os.fsync(self._file.fileno())  # after a power cut the spool is complete, or has no note
            spool = {"name": Path(self._file.name).name, "size": self._file.seek(0, os.SEEK_END)}
            spool |= {"count": self.spool.count, "places": self.spool.places}
            said = {"read_as": self._read_as, "spool": spool, "reading": reading.document}
            draft = _beside(self._upload, secrets.token_hex(4))
            draft.write_text(json.dumps(said), "ascii")
            draft.replace(_beside(self._upload, NOTE))
        return reading


@contextmanager
def opened(upload: Path | None, *, read_as: str) -> Iterator[FeedSpool]:
    """Open the stored reading of an upload, or an empty spool for a new reading.

    Args:
        upload: the file to read; None uses a spool in TMPDIR without a name, which disappears
            when it is closed.
        read_as: the way to read the upload, as a text. A reading with another text is not used.
    """
    if upload is None:
        with tempfile.TemporaryFile("w+b") as nameless:
            yield FeedSpool(nameless)
        return
    kept = _found(upload, read_as)
    if kept is not None:
        with kept._file:
            yield kept
        return
    forget(upload)
    path = _beside(upload, f"{secrets.token_hex(4)}.lines")
    with path.open("x+b") as file:
        kept = FeedSpool(file, upload, read_as)
        try:
            yield kept
        finally:
            if kept.reading is None:
                path.unlink(missing_ok=True)


def forget(upload: Path) -> None:
    """Remove all stored readings of an upload, also those of dead workers."""
    for path in upload.parent.glob(f"{upload.name}.*"):
        path.unlink(missing_ok=True)


def _found(upload: Path, read_as: str) -> FeedSpool | None:
    """Return the stored reading, if it is complete and was read in the same way; else None."""
    try:
        said = json.loads(_beside(upload, NOTE).read_text("ascii"))
        spool, reading = said["spool"], FeedReading.of(said["reading"])
        file = upload.with_name(spool["name"]).open("rb")
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if said["read_as"] != read_as or os.fstat(file.fileno()).st_size != spool["size"]:
        file.close()
        return None
    kept = FeedSpool(file, upload, read_as)
    kept.spool = Spool(file, count=spool["count"], places=spool["places"])
    kept.reading = reading
    return kept


def _beside(upload: Path, name: str) -> Path:
    return upload.with_name(f"{upload.name}.{name}")
