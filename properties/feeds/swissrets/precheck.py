"""Search the bytes of a file to decide whether it can be read without a survey.

Most files repeat no reference and name no project. Parsing each file twice would nearly double the
cost of a nightly feed. A search for a few words costs a hundredth of that. In doubt, a survey is
made.
"""

import re
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024  # bytes
OVERLAP = 1024  # bytes at the end of a block that are searched with the next one


class Signs(NamedTuple):
    """How a format writes references and projects.

    Attributes:
        name: the beginning of a reference.
        reference: a reference whose value has no escapes.
        doubts: the patterns that require a survey.
    """

    name: re.Pattern[bytes]
    reference: re.Pattern[bytes]
    doubts: tuple[re.Pattern[bytes], ...]


JSON = Signs(
    re.compile(rb'"referenceId"'),
    re.compile(rb'"referenceId"\s*:\s*"([ !#-\[\]-~]*)"'),
    # The last one finds names whose letters are escaped.
    (re.compile(rb'"projects"'), re.compile(rb"\\u00(?:49|[67])")),
)
XML = Signs(
    re.compile(rb"<referenceId"),
    re.compile(rb"<referenceId>([ -%'-;=-~]*)</"),
    # Names may have a prefix, and a NUL means UTF-16.
    tuple(re.compile(sign) for sign in (b"<projects", b":projects", b":referenceId", b"\x00")),
)


def is_plain(path: Path, signs: Signs) -> bool:
    """Return whether a file certainly has no project and no repeated reference."""
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
    """Add the references that begin before `end`; return False if one repeats or is unreadable."""
    for name in signs.name.finditer(block):
        if name.start() >= end:
            return True
        found = signs.reference.match(block, name.start())
        if found is None or (value := found[1].strip()) in seen:
            return False
        seen.add(value)
    return True
