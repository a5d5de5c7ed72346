"""Pure but for the file: whether its records can be read without a survey, told from its bytes.

Most files repeat no reference and name no project. To parse each twice would nearly double the cost
of a nightly feed; to look for a few words costs a hundredth of that. In doubt there is a survey.
"""

import re
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024  # bytes
OVERLAP = 1024  # bytes at the end of a block that are looked at with the next one


class Signs(NamedTuple):
    """How a format writes what the survey is for.

    Attributes:
        name: how a reference begins.
        reference: the same with its value, as far as its bytes are the value itself.
        doubts: what calls for a survey wherever it stands.
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
    """Tell whether a file certainly names no project and repeats no reference."""
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
    """Add the references that begin before `end`; False where one is there or cannot be told."""
    for name in signs.name.finditer(block):
        if name.start() >= end:
            return True
        found = signs.reference.match(block, name.start())
        if found is None or (value := found[1].strip()) in seen:
            return False
        seen.add(value)
    return True
