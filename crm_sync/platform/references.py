"""Pure: which texts can be our references, and which can be part of a URL's path (A14, S14).

A reference such as "2026/17" is valid: it is sent in bodies, and a path contains the id instead.
"""

import re

from crm_sync.sentence import Sentence, sentence

LIMIT = 255  # §8: text and reference fields
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")  # most references: nothing more to check


def fault(reference: str) -> Sentence | None:
    """Return why `reference` is not valid, or None if it is."""
    found = None
    if _PLAIN.fullmatch(reference):
        return None
    if not reference:
        found = sentence("The reference is empty")
    elif (count := len(reference)) > LIMIT:
        found = sentence(
            "The reference is longer than %(most)s characters (%(count)s)", most=LIMIT, count=count
        )
    elif reference in {".", ".."}:
        found = sentence(
            'The reference cannot be "%(reference)s": that is a step in a path', reference=reference
        )
    elif re.search(r"[\x00-\x1f\x7f-\x9f]", reference):
        found = sentence("The reference holds a control character")
    elif re.search(r"[\ud800-\udfff]", reference):
        found = sentence("The reference holds half a character (a lone surrogate)")
    elif reference != reference.strip():
        found = sentence("The reference begins or ends with a space")
    return found


def path_fault(reference: str) -> Sentence | None:
    """Return why `reference` cannot be a key in a path, or None if it can.

    Proxies decode %2F and %3F and fold dot segments, so a percent-encoded reference may still
    arrive as another path. Such a reference is never put in a path.
    """
    if special := re.search(r"[/?#%\\]", reference):
        return sentence(
            'The reference holds "%(sign)s", which cannot travel in an address', sign=special[0]
        )
    return fault(reference)
