"""The limits that prevent a file from filling the memory: see docs/feeds.md."""

from typing import Any

from crm_sync.sentence import Sentence, counted_sentence, sentence, sentence_of
from properties.feeds.records import NotAFeed

MAX_TEXT = 131_072  # characters of one value; the default of Python's csv module
MAX_NAME = 255  # characters of the name of a value
MAX_DEPTH = 40  # elements, objects and lists that may be open at a time
MAX_RECORD = 4 * 1024**2  # characters of a SwissRETS record: each value counts with its path and...
VALUE = 32  # ...this number: a million empty lists are a large record
MAX_BYTES = 8 * MAX_RECORD  # in the file for one record, which may be indented or escaped
MAX_MEMORY = 512 * 1024**2  # bytes of data of the process that reads a file (RLIMIT_DATA)
MAX_SECONDS = 30  # of processor time of that process for one record
BITS = 1024  # of a whole number; a larger one fits no float and is stored as text
MAX_REASONS = 100  # of one refusal that are listed; the others are counted

NAME = sentence("has a name of more than %(most)s characters", most=MAX_NAME)
DEPTH = sentence("is nested deeper than %(most)s levels", most=MAX_DEPTH)
DECLARES = sentence("it declares entities or points outside, which no feed needs")
RECORD = sentence(
    "is larger than %(most)s characters, with the path of each value", most=MAX_RECORD
)


class TooLong(Exception):
    """A text or record is too long.

    Attributes:
        why: the message for people.
    """

    def __init__(self, why: Sentence) -> None:
        self.why = why
        super().__init__(why)


def written(number: int) -> str:
    """Return the digits of a whole number, or a description if it has too many for Python."""
    try:
        return str(number)
    except ValueError:
        return f"a number of about {number.bit_length() * 0.30103:,.0f} digits"


def check(path: str, text: str) -> None:
    """Raise TooLong if a text is longer than MAX_TEXT."""
    if len(text) > MAX_TEXT:
        raise TooLong(longer(path))


def longer(name: str) -> Sentence:
    """Return what is said of a text that is longer than MAX_TEXT."""
    return sentence("%(name)s is longer than %(most)s characters", name=name, most=MAX_TEXT)


def check_record(raw: Any, file_name: str, position: Sentence) -> None:
    """Raise NotAFeed for a record that is too large, nested too deeply, or has too long a name.

    Each value counts with its path, because the path becomes the name of a value set aside.

    Args:
        position: where the record is in the file.
    """
    try:
        if isinstance(raw, dict | list) and _weight(raw) > MAX_RECORD:
            raise TooLong(RECORD)
    except TooLong as error:
        raise NotAFeed.of(file_name, sentence_of(position, error.why)) from None


def _weight(holder: Any, path: int = 0, depth: int = 3) -> int:
    """Return the weight of an object or list. The defaults are for a record in a list of the root.

    Simple values are added in the loop without a call, because it runs for every value.
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


def first_reasons(reasons: list[Sentence]) -> list[Sentence]:
    """Return the first reasons, and a line with the number of the others."""
    more = len(reasons) - MAX_REASONS
    if more <= 0:
        return reasons
    rest = counted_sentence("and %(count)s more reason", "and %(count)s more reasons", count=more)
    return [*reasons[:MAX_REASONS], rest]
