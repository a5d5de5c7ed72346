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
        if isinstance(raw, dict | list) and _weight(raw) > MAX_RECORD:
            raise TooLong(RECORD)
    except TooLong as error:
        raise NotAFeed(f"{what} {error}") from None


def _weight(holder: Any, path: int = 0, depth: int = 3) -> int:
    """Return the weight of an object or list; by default of a record, in a list of the root.

    What it holds is weighed in the loop, and not by a call for each: this runs for every value.
    """
    if depth > MAX_DEPTH:
        raise TooLong(DEPTH)
    weight = path + VALUE
    is_object = isinstance(holder, dict)
    for member in holder:
        way, value = path + 1, member
        if is_object:
            way, value = way + len(member), holder[member]
            if len(member) > MAX_NAME:
                raise TooLong(NAME)
        if isinstance(value, str):
            weight += way + VALUE + len(value)
        elif isinstance(value, dict | list):
            weight += _weight(value, way, depth + 1)
        else:
            weight += way + VALUE
    return weight


def first_reasons(reasons: list[str]) -> list[str]:
    """Return the first reasons, and a line with the number of the others."""
    more = len(reasons) - MAX_REASONS
    return reasons if more <= 0 else [*reasons[:MAX_REASONS], f"and {more:,} more reasons"]
