"""Unpack the feed of a packed file, for the command and for an upload. Sources have their own way.

A file that is not packed is not changed.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from crm_sync.sentence import Sentence, first_of, sentence, sentence_of
from properties.feeds import NotAFeed
from properties.feeds.unpack import NotUnpacked, is_packed, unpack

NAMED = 5  # files beside the feed that the text names


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Path, Sentence]]:
    """Yield the feed that a file is or contains, and a text about the files beside it.

    The unpacked feed is removed at the end.

    Raises:
        NotAFeed: the file is packed, and contains no feed or several, is broken, or is too large.
    """
    if not _is_packed(path):
        yield path, Sentence()
        return
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / path.name
        yield into, _unpack(path, into)


def unpack_in_place(path: Path) -> Sentence:
    """Replace a packed file by its feed; return a text about the files beside the feed.

    If the worker dies, the path has one of the two files.

    Raises:
        NotAFeed: see `unpacked`.
    """
    if not _is_packed(path):
        return Sentence()
    into = path.with_suffix(".feed")
    into.unlink(missing_ok=True)
    try:
        beside = _unpack(path, into)
        into.replace(path)
    finally:
        into.unlink(missing_ok=True)
    return beside


def _is_packed(path: Path) -> bool:
    try:
        return path.is_file() and is_packed(path)
    except NotUnpacked as error:
        raise _not_a_feed(path, error) from error
    except OSError:
        return False  # the reader reports it


def _not_a_feed(path: Path, error: NotUnpacked) -> NotAFeed:
    return NotAFeed(sentence_of(path.name, str(error)))


def _unpack(path: Path, into: Path) -> Sentence:
    try:
        with into.open("xb") as file:
            found = unpack(path, path.name, file, limit=settings.SOURCE_FILE_LIMIT)
    except NotUnpacked as error:
        raise _not_a_feed(path, error) from error
    if not found.beside:
        return Sentence()
    return sentence(
        "%(name)s is read, and left out of what is packed with it: %(names)s",
        name=found.name,
        names=first_of(found.beside[:NAMED], len(found.beside)),
    )
