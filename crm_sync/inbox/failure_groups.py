"""Pure: the cause of a stuck received event, the same text for all with the same cause."""

import re

LENGTH = 200
# What differs between two received events of one cause.
_QUOTED = re.compile(r"'[^']*'?|\"[^\"]*\"?")
_NAME = re.compile(r"'[A-Z][A-Z_]+'")  # of an event: that is what the cause is about
_KEY = re.compile(r"\b[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b")
# No part is tried again shorter, else a long word of hexadecimal letters takes minutes.
_NUMBER = re.compile(r"\b(?:0x)?+(?=[a-fA-F]*+\d)[0-9a-fA-F]++\b(?:[-:.,T]\d++)*+Z?")


def cause_of(effect: str) -> str:
    """Return the first line of why a received event is stuck without what belongs to it alone.

    "ValueError: order 5000 has no 'x'" and the same of order 5001 are one cause.
    """
    text = " ".join(effect.partition("\n")[0].split())
    text = _QUOTED.sub(lambda found: found[0] if _NAME.fullmatch(found[0]) else "'…'", text)
    return _NUMBER.sub("…", _KEY.sub("…", text))[:LENGTH]
