"""Pure: what can be a reference of ours, and which ones can travel in the path of a URL (A14, S14).

A reference such as "2026/17" is a good one: it is sent in bodies, and its property goes by its id.
"""

import re

LIMIT = 255  # §8: text and reference fields
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")  # what nearly all are: no more to look at


def fault(reference: str) -> str | None:
    """Say why `reference` can be none ("is empty"), or return None when it can."""
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
    """Say why `reference` cannot be a key in a path, or return None when it can.

    Proxies decode %2F and %3F and fold dot segments, so a percent-encoded reference may still
    arrive as another path. It does not travel in one.
    """
    if special := re.search(r"[/?#%\\]", reference):
        return f'holds "{special[0]}", which cannot travel in an address'
    return fault(reference)
