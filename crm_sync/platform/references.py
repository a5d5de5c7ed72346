"""Pure: which texts can be our references, and which can be part of a URL's path (A14, S14).

A reference such as "2026/17" is valid: it is sent in bodies, and a path contains the id instead.
"""

import re

from django.utils.translation import gettext_lazy as _

from crm_sync.translated import Text

LIMIT = 255  # §8: text and reference fields
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")  # most references: nothing more to check

# What an operator reads of an id → what a person reads of a reference.
SENTENCES: dict[str, Text] = {
    "is empty": _("The reference is empty"),
    "is longer than %(most)s characters (%(count)s)": _(
        "The reference is longer than %(most)s characters (%(count)s)"
    ),
    'cannot be "%(reference)s": that is a step in a path': _(
        'The reference cannot be "%(reference)s": that is a step in a path'
    ),
    "holds a control character": _("The reference holds a control character"),
    "holds half a character (a lone surrogate)": _(
        "The reference holds half a character (a lone surrogate)"
    ),
    "begins or ends with a space": _("The reference begins or ends with a space"),
}


def fault(reference: str) -> str | None:
    """Return why `reference` is not valid, in the language of the reader, or None if it is."""
    reason = _reason(reference)
    return None if reason is None else SENTENCES[reason] % _values(reference)


def _reason(reference: str) -> str | None:
    if _PLAIN.fullmatch(reference):
        return None
    found = (
        not reference,
        len(reference) > LIMIT,
        reference in {".", ".."},
        re.search(r"[\x00-\x1f\x7f-\x9f]", reference),
        re.search(r"[\ud800-\udfff]", reference),
        reference != reference.strip(),
    )
    return next((one for one, applies in zip(SENTENCES, found, strict=True) if applies), None)


def _values(reference: str) -> dict[str, object]:
    return {"most": LIMIT, "count": len(reference), "reference": reference}


def path_fault(reference: str) -> str | None:
    """Return why `reference` cannot be a key in a path ("is empty"), or None if it can.

    Proxies decode %2F and %3F and fold dot segments, so a percent-encoded reference may still
    arrive as another path. Such a reference is never put in a path.
    """
    if special := re.search(r"[/?#%\\]", reference):
        return f'holds "{special[0]}", which cannot travel in an address'
    reason = _reason(reference)
    return None if reason is None else reason % _values(reference)
