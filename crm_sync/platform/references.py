"""Pure: which texts can be our references, and which can be part of a URL's path (A14, S14).

A reference such as "2026/17" is valid: it is sent in bodies, and a path contains the id instead.
"""

import re

LIMIT = 255  # §8: text and reference fields
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")  # most references: nothing more to check


def fault(reference: str) -> str | None:
    """Return why `reference` is not valid ("is empty"), or None if it is."""
    if _PLAIN.fullmatch(reference):
        return None
    reasons = {
        "is empty": not reference,
        f"is longer than {LIMIT} characters ({len(reference)})": len(reference) > LIMIT,
        f'cannot be "{reference}": that is a step in a path': reference in {".", ".."},
        "holds a control character": re.search(r"[\x00-\x1f\x7f-\x9f]", reference),
        "holds half a character (a lone surrogate)": re.search(r"[\ud800-\udfff]", reference),
        "begins or ends with a space": reference != reference.strip(),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def path_fault(reference: str) -> str | None:
    """Return why `reference` cannot be a key in a path, or None if it can.

    Proxies decode %2F and %3F and fold dot segments, so a percent-encoded reference may still
    arrive as another path. Such a reference is never put in a path.
    """
    if special := re.search(r"[/?#%\\]", reference):
        return f'holds "{special[0]}", which cannot travel in an address'
    return fault(reference)
