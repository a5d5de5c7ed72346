"""Pure: the names of files at a target, made of a pattern such as `{reference}/{product}/{nn}`.

Each part of a path is a safe name of a file, whatever the values hold. The ending is always that of
the file's type, so the ending that a pattern has counts only as a hint and is left out.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping

from crm_sync.sentence import Sentence, sentence
from orders.materials.file_names import cut, folded, plain
from orders.materials.file_types import FILE_TYPES

NUMBER = "nn"
NAMES = ("reference", "order", "product", "quality", "name", NUMBER)
MOST = 100_000  # names that are tried for one material
_PLACE = re.compile(r"\{([^{}]*)\}")
_ENDINGS = tuple({one.suffix for one in FILE_TYPES.values()} | {".jpeg", ".tiff"})


def fault(pattern: str) -> Sentence:
    """Return why a pattern cannot be used, "" if it can."""
    unknown = [one for one in _PLACE.findall(pattern) if one not in NAMES]
    if unknown:
        return sentence(
            "{%(name)s} is not known; known are %(names)s",
            name=unknown[0],
            names=", ".join(f"{{{one}}}" for one in NAMES),
        )
    literal = _PLACE.sub("x", pattern)
    if "{" in literal or "}" in literal:
        return sentence("a brace has no partner")
    if pattern.startswith("/") or ":" in literal or "\\" in literal:
        return sentence("it is a path below the folder of the target, with / between its parts")
    for part in pattern.split("/"):
        if not plain(_PLACE.sub("x", part)):
            return sentence("a part between two slashes is empty or consists of dots")
        if plain(_PLACE.sub("x", part)) != _PLACE.sub("x", part):
            return sentence('"%(part)s" cannot be part of the name of a file', part=part)
    return Sentence()


def names(pattern: str, values: Mapping[str, str], suffix: str, first: int) -> Iterator[str]:
    """Yield the names for a file, the best first; a caller takes the first that is free.

    Args:
        pattern: one without a `fault`.
        values: by name; all but the number.
        suffix: the ending of the file's type, with its dot.
        first: the number with which `{nn}` begins. Without `{nn}`, the second name gets "-2".
    """
    has_number = f"{{{NUMBER}}}" in pattern
    for number in range(first if has_number else 1, MOST):
        written = {**values, NUMBER: f"{number:02}"}
        *folders, last = [_part(one, written) for one in _without_ending(pattern).split("/")]
        again = "" if has_number or number == 1 else f"-{number}"
        yield "/".join([*folders, f"{last}{again}{suffix}"])


def stem(pattern: str, values: Mapping[str, str], suffix: str) -> str:
    """Return what materials have in common that `{nn}` must tell apart."""
    return key(next(names(pattern, values, suffix, 1)))


def key(name: str) -> str:
    """Return the digest of a name as file systems compare it."""
    return hashlib.sha256(folded(name).encode()).hexdigest()


def _part(part: str, values: Mapping[str, str]) -> str:
    filled = plain(_PLACE.sub(lambda found: plain(values[found[1]]), part))
    shorter = cut(filled)
    if shorter != filled and f"{{{NUMBER}}}" in part:  # what tells files apart stays
        shorter = f"{shorter}-{values[NUMBER]}"
    return shorter or "_"


def _without_ending(pattern: str) -> str:
    lower = pattern.lower()
    found = next((one for one in _ENDINGS if lower.endswith(one)), "")
    shorter = pattern.removesuffix(pattern[-len(found) :]) if found else pattern
    return shorter if found and not shorter.endswith("/") else pattern
