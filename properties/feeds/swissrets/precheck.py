"""Whether the records of a file can be read without a survey, by a search in its bytes.

Most files repeat no reference and name no project. To parse each twice would nearly double the cost
of a nightly feed, and a search for a few words costs a hundredth of that. In doubt there is a
survey.
"""

import re
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024  # bytes
OVERLAP = 1024  # bytes at the end of a block that are searched with the next one


class Signs(NamedTuple):
    """How a format writes references and projects.

    Attributes:
        name: how a reference begins.
        reference: the same with its value, as far as its bytes are the value itself.
        doubts: what requires a survey wherever it occurs.
    """

    name: re.Pattern[bytes]
    reference: re.Pattern[bytes]
    doubts: tuple[re.Pattern[bytes], ...]


JSON = Signs(
    re.compile(rb'"referenceId"'),
    re.compile(rb'"referenceId"\s*:\s*"([ !#-\[\]-~]*)"'),
    # The last: a name could be spelled with escapes for its letters.
    (re.compile(rb'"projects"'), re.compile(rb"\\u00(?:49|[67])")),
)
XML = Signs(
    re.compile(rb"<referenceId"),
    re.compile(rb"<referenceId>([ -%'-;=-~]*)</"),
    # Names may have a prefix, and a NUL means UTF-16.
    tuple(re.compile(sign) for sign in (b"<projects", b":projects", b":referenceId", b"\x00")),
)


def is_plain(path: Path, signs: Signs) -> bool:
    """Return whether a file certainly names no project and repeats no reference."""
    seen: set[bytes] = set()
    with path.open("rb") as file:
        block = file.read(BLOCK)
        while block:
            following = file.read(BLOCK)
            end = max(0, len(block) - OVERLAP) if following else len(block)
            if any(doubt.search(block) for doubt in signs.doubts):
                return False
            if not _are_new(block, end, signs, seen):
                return False
            block = block[end:] + following if following else b""
    return True


def _are_new(block: bytes, end: int, signs: Signs, seen: set[bytes]) -> bool:
    """Add the references that begin before `end`; False if one repeats or cannot be read."""
    for name in signs.name.finditer(block):
        if name.start() >= end:
            return True
        found = signs.reference.match(block, name.start())
        if found is None or (value := found[1].strip()) in seen:
            return False
        seen.add(value)
    return True
