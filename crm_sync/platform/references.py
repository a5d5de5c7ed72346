"""Pure: which references can travel in the path of a URL (A14, S14)."""

import re

LIMIT = 255  # §8: text and reference fields
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")  # what nearly all are: no more to look at


def fault(reference: str) -> str | None:
    """Say why `reference` cannot be a key in a path ("is empty"), or return None when it can.

    Proxies decode %2F and %3F and fold dot segments, so a percent-encoded reference may still
    arrive as another path: it is refused where it is entered, not when it travels.
    """
    if _PLAIN.fullmatch(reference):
        return None
    special = re.search(r"[/?#%\\]", reference)
    reasons = {
        "is empty": not reference,
        f"is longer than {LIMIT} characters ({len(reference)})": len(reference) > LIMIT,
        f'cannot be "{reference}": that is a step in a path': reference in {".", ".."},
        f'holds "{special and special[0]}", which cannot travel in an address': special,
        "holds a control character": re.search(r"[\x00-\x1f\x7f-\x9f]", reference),
        "holds half a character (a lone surrogate)": re.search(r"[\ud800-\udfff]", reference),
        "begins or ends with a space": reference != reference.strip(),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)
