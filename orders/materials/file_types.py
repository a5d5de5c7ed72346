"""Pure: the file types that are downloaded, and their first bytes."""

import re
from dataclasses import dataclass

from crm_sync.sentence import sentence


class NotKept(ValueError):
    """A file that we do not store."""


@dataclass(frozen=True)
class FileType:
    """A file type that we store.

    Attributes:
        suffix: the ending of a file that is served.
        begins: the pattern of its first bytes.
        is_picture: a browser shows it in a page.
        opens: a browser shows it by itself. Other types are saved.
    """

    suffix: str
    begins: re.Pattern[bytes]
    is_picture: bool = False
    opens: bool = False


def _type(suffix: str, begins: bytes, **how: bool) -> FileType:
    return FileType(suffix, re.compile(begins, re.DOTALL), **how)


# No HTML and no SVG, because a browser would run their scripts. Office files are ZIP files.
FILE_TYPES = {
    "image/jpeg": _type(".jpg", rb"\xff\xd8\xff", is_picture=True, opens=True),
    "image/png": _type(".png", rb"\x89PNG\r\n\x1a\n", is_picture=True, opens=True),
    "image/webp": _type(".webp", rb"RIFF....WEBP", is_picture=True, opens=True),
    "image/gif": _type(".gif", rb"GIF8[79]a", is_picture=True, opens=True),
    "image/tiff": _type(".tif", rb"II\*\0|MM\0\*"),
    "image/heic": _type(".heic", rb"....ftyp(hei|mif|msf|hev)"),
    "application/pdf": _type(".pdf", rb"%PDF-", opens=True),
    "video/mp4": _type(".mp4", rb"....ftyp", opens=True),
    "video/quicktime": _type(".mov", rb"....(ftyp|moov|mdat|wide|free)"),
    "application/zip": _type(".zip", rb"PK\x03\x04"),
}
PICTURES = frozenset(name for name, one in FILE_TYPES.items() if one.is_picture)
SAME = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/tif": "image/tiff"}
SAYS_NOTHING = frozenset({"", "application/octet-stream", "binary/octet-stream"})
LONGEST_BEGINNING = 16  # bytes that `begins` is matched with


def plain(mime_type: str) -> str:
    """Return a MIME type without parameters and in one spelling, or "" if it names no type."""
    word = mime_type.partition(";")[0].strip().lower()
    word = SAME.get(word, word)
    return "" if word in SAYS_NOTHING else word


def beginning_of(first: bytes) -> str:
    """Return the type of a file by its first bytes, or "" if we do not store it."""
    return next((name for name, one in FILE_TYPES.items() if one.begins.match(first)), "")


def checked(announced: str, answered: str, first: bytes) -> str:
    """Return the type of a file that has arrived.

    Args:
        announced: the type in the platform's list, or "".
        answered: the type in the server's answer, or "".
        first: its first bytes.

    Raises:
        NotKept: we do not store the type, or the types and the first bytes differ.
    """
    announced, answered = plain(announced), plain(answered)
    for one in (announced, answered):
        if one and one not in FILE_TYPES:
            raise NotKept(sentence("files of the type %(type)s are not downloaded", type=one))
    if announced and answered and announced != answered:
        raise NotKept(
            sentence(
                "the server answers with %(answered)s, the list says %(announced)s",
                answered=answered,
                announced=announced,
            )
        )
    found = announced or answered or beginning_of(first)
    if not found or FILE_TYPES[found].begins.match(first) is None:
        if not found:
            raise NotKept(sentence("its first bytes are not those of a type that is kept"))
        raise NotKept(sentence("its first bytes are not those of %(type)s", type=found))
    return found
