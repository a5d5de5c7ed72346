"""Pure: a street and its number, which many senders write in one text."""

import re

MAX_STREET = 255  # characters
_NUMBER_LAST = re.compile(r",?\s+(\d{1,4}\s?[a-zA-Z]?(?:\s?[-/+]\s?\d{1,4}\s?[a-zA-Z]?)?)$")
_NUMBER_FIRST = re.compile(
    r"(\d{1,4}[a-zA-Z]?(?:[-/]\d{1,4})?),?\s+((?:rue|route|rte|avenue|av\.|chemin|ch\.|boulevard"
    r"|bd|place|quai|ruelle|allée|impasse|passage|sentier|square)\s.*)",
    re.IGNORECASE,
)
# Before a number that is none of a house.
_NO_STREET = re.compile(
    r"\b(postfach|case postale|casella|parzelle|parz\.?|nr\.?|no\.?|gb)\W*$", re.I
)


def street(text: str) -> tuple[str, str]:
    """Return a street and its number, "" where the text has none for certain."""
    if len(text) > MAX_STREET:
        return text, ""
    if first := _NUMBER_FIRST.fullmatch(text):
        return first[2], first[1]
    last = _NUMBER_LAST.search(text)
    name = text[: last.start()] if last else ""
    if last is None or not any(map(str.isalpha, name)) or _NO_STREET.search(name):
        return text, ""
    return name, last[1]
