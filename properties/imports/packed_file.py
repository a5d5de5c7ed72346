"""The feed out of a file that is packed, for the command and for an upload; a source has its own.

What is not packed stays as it is.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from properties.feeds import NotAFeed
from properties.feeds.unpack import NotUnpacked, is_packed, unpack

NAMED = 5  # files beside the feed


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the feed that a file is or holds, and what is beside it in words; it goes afterwards.

    Raises:
        NotAFeed: it is packed and holds no feed, or several, is broken, or too large.
    """
    if not _is_packed(path):
        yield path, ""
        return
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / path.name
        yield into, _unpack(path, into)


def unpack_in_place(path: Path) -> str:
    """Put the feed of a file that is packed into its place; return what was beside it in words.

    If the worker dies, the path holds one of the two files.

    Raises:
        NotAFeed: as `unpacked` does.
    """
    if not _is_packed(path):
        return ""
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
        raise NotAFeed(f"{path.name}: {error}") from error
    except OSError:
        return False  # the reader reports it


def _unpack(path: Path, into: Path) -> str:
    try:
        with into.open("xb") as file:
            found = unpack(path, path.name, file, limit=settings.SOURCE_FILE_LIMIT)
    except NotUnpacked as error:
        raise NotAFeed(f"{path.name}: {error}") from error
    if not found.beside:
        return ""
    more = len(found.beside) - NAMED
    names = ", ".join(found.beside[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"{found.name} is read, and left out of what is packed with it: {names}"
