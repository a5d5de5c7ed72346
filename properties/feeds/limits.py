"""How much of a file may be one thing, so that no file fills the memory: see docs/feeds.md."""

from typing import Any

from properties.feeds.records import NotAFeed

MAX_TEXT = 131_072  # characters of one value; what Python's csv module takes by default
MAX_NAME = 255  # characters of the name of a value
MAX_DEPTH = 40  # elements, objects and lists that may be open at a time
MAX_RECORD = 4 * 1024**2  # characters of one record of SwissRETS, each value with its path and...
VALUE = 32  # ...this besides: a million empty lists are no small record
MAX_BYTES = 8 * MAX_RECORD  # of the file for one record: it may be indented or escaped
MAX_MEMORY = 512 * 1024**2  # bytes of data of the process that reads a file
MAX_SECONDS = 30  # of processor time for one record in it
BITS = 1024  # of a whole number; a larger one is no float, and is kept as a text
MAX_REASONS = 100  # why one record is refused; the others are counted

NAME = f"has a name of more than {MAX_NAME} characters"
DEPTH = f"is nested deeper than {MAX_DEPTH} levels"
ENDS_EARLY = "it ends too early"
DECLARES = "it declares entities or points outside, which no feed needs"
RECORD = f"is larger than {MAX_RECORD:,} characters, with the path of each value"


class TooLong(Exception):
    """A text is longer than MAX_TEXT; says which."""


def written(number: int) -> str:
    """Return the digits of a whole number, as far as Python writes them in a reasonable time."""
    try:
        return str(number)
    except ValueError:
        return f"a number of about {number.bit_length() * 0.30103:,.0f} digits"


def check(path: str, text: str) -> None:
    """Raise TooLong for a text that no field is meant for."""
    if len(text) > MAX_TEXT:
        raise TooLong(f"{path} is longer than {MAX_TEXT:,} characters")


def check_record(raw: Any, what: str) -> None:
    """Raise NotAFeed for a record that is too large, nested too deeply, or has too long a name.

    It is weighed with the path of each value, because that becomes a name of what is set aside.

    Args:
        what: the file and the record, for the message.
    """
    try:
        if _weight(raw) > MAX_RECORD:
            raise TooLong(RECORD)
    except TooLong as error:
        raise NotAFeed(f"{what} {error}") from None


def _weight(value: Any, path: int = 0, depth: int = 3) -> int:
    """Return the weight of a value; by default that of a record, which lies in a list of a root."""
    weight = path + VALUE
    if isinstance(value, str):
        return weight + len(value)
    if isinstance(value, dict | list) and depth > MAX_DEPTH:
        raise TooLong(DEPTH)
    if isinstance(value, dict):
        for name, member in value.items():
            if len(name) > MAX_NAME:
                raise TooLong(NAME)
            weight += _weight(member, path + len(name) + 1, depth + 1)
    elif isinstance(value, list):
        for item in value:
            weight += _weight(item, path + 1, depth + 1)
    return weight


def first_reasons(reasons: list[str]) -> list[str]:
    """Return the first reasons, and a line with the number of the others."""
    more = len(reasons) - MAX_REASONS
    return reasons if more <= 0 else [*reasons[:MAX_REASONS], f"and {more:,} more reasons"]
